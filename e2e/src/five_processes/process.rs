use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};
use weir_testkit::{ControlPlane, Folder, Process, built_program};

use super::arguments::{self, Surroundings};
use crate::installation::NAMESPACE;
use crate::kept_log::keep_log;
use crate::ports::Ports;

/// The time that Pods have to stop, and some more on a busy machine.
const STOP_DEADLINE: Duration = Duration::from_secs(30);

/// The file of the token for peers, in the folder of the process.
pub(super) const PEER_TOKEN: &str = "peer-token";

/// The project whose program a service runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Maker {
    /// This one, as the ServiceAccount of the service.
    Weir,
    /// Flux, by its program, which may do everything: its own manifests bring its own rights.
    Flux(PathBuf),
}

/// One service, running or not.
#[derive(Debug)]
pub(super) struct ServiceProcess {
    // Fields drop in order: the process ends before its folder goes.
    process: Option<Process>,
    service: &'static str,
    maker: Maker,
    arguments: Vec<String>,
    /// The token that it shows its peers instead of its own.
    peer_token: Option<String>,
    pub(super) ports: Ports,
    folder: Folder,
}

impl ServiceProcess {
    /// Prepares a service with the arguments of its Deployment.
    pub(super) fn new(
        service: &'static str,
        maker: Maker,
        ports: Ports,
        deployed: &[String],
        surroundings: &Surroundings,
    ) -> Result<Self> {
        let folder = Folder::new(service)?;
        for name in ["data", "tmp"] {
            std::fs::create_dir_all(folder.join(name))?;
        }
        let deployed = deployed.iter().map(|argument| surroundings.argument(argument, folder.path()));
        let mut arguments = deployed.collect::<Result<Vec<_>>>()?;
        arguments.extend(arguments::of_host(service, ports, folder.path()));
        if maker != Maker::Weir {
            arguments.retain(|argument| !arguments::is_of_weir(argument));
        }
        Ok(Self { process: None, service, maker, arguments, peer_token: None, ports, folder })
    }

    /// Starts it as its ServiceAccount and waits until it is ready.
    pub(super) async fn start(&mut self, plane: &ControlPlane) -> Result<()> {
        let (program, kubeconfig) = match &self.maker {
            Maker::Weir => (built_program(self.service)?, self.kubeconfig(plane).await?),
            Maker::Flux(program) => (program.clone(), plane.kubeconfig_path().to_owned()),
        };
        let mut command = Command::new(program);
        command
            .current_dir(self.folder.path())
            .env("KUBECONFIG", kubeconfig)
            .env("RUNTIME_NAMESPACE", NAMESPACE)
            .env("TMPDIR", self.folder.join("tmp"))
            .env("NO_PROXY", "127.0.0.1,localhost")
            .args(&self.arguments);
        let process = Process::start(self.service, &mut command, &self.folder.join("log"))?;
        Ok(self.process.insert(process).becomes_ready(self.ports.health).await?)
    }

    /// Writes the tokens of its ServiceAccount; returns the kubeconfig that shows the one for the API server.
    async fn kubeconfig(&self, plane: &ControlPlane) -> Result<PathBuf> {
        let token = plane.service_account_token(NAMESPACE, self.service).await?;
        let token = self.folder.write("token", token)?;
        let for_peers = match &self.peer_token {
            Some(other) => other.clone(),
            None => plane.token_of_audiences(NAMESPACE, self.service, &["weir"]).await?,
        };
        self.folder.write(PEER_TOKEN, for_peers)?;
        Ok(plane.kubeconfig_with(plane.server(), &token)?)
    }

    /// Shows its peers another token from the next start on, or its own.
    pub(super) fn show_peers(&mut self, token: Option<&str>) {
        self.peer_token = token.map(str::to_owned);
    }

    /// Asks it to stop and waits for its end.
    pub(super) async fn stop(&mut self) -> Result<()> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        let status = process.stop(STOP_DEADLINE).await?;
        if !status.success() {
            bail!("{} ended with {status}:\n{}", self.service, process.log_tail());
        }
        Ok(())
    }
}

impl Drop for ServiceProcess {
    fn drop(&mut self) {
        keep_log(&self.folder.join("log"), self.service);
    }
}
