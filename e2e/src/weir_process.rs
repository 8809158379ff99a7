use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use weir_testkit::{Folder, Process, built_program, repo_path};

use crate::kept_log::keep_log;
use crate::ports::Ports;

/// Flux's controllers are given 10 s at most to finish what they do.
const STOP_DEADLINE: Duration = Duration::from_secs(20);

/// File that a kill point makes before it ends the process.
const KILLED: &str = "killed";

/// Settings of `weir run`.
#[derive(Debug, Clone, Default)]
pub struct WeirOptions {
    /// Ends the process at this point, once ([`weir_runtime::killpoint`]).
    pub kill_point: Option<String>,
    /// Further arguments of `weir run`.
    pub arguments: Vec<String>,
    /// Further variables of its environment.
    pub environment: Vec<(String, String)>,
}

/// `weir run` as a child process. Ports and folders stay the same over a restart, as they do in a cluster.
#[derive(Debug)]
pub struct WeirProcess {
    process: Process,
    program: PathBuf,
    kubeconfig: PathBuf,
    ports: Ports,
    options: WeirOptions,
    folder: Folder,
}

/// The `weir` program built with the tests (`target/<profile>/weir`), or the one that `WEIR_BIN` names.
///
/// # Errors
/// When it has not been built.
pub fn weir_program() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("WEIR_BIN") {
        return Ok(path.into());
    }
    Ok(built_program("weir")?)
}

impl WeirProcess {
    /// Starts `weir run` with a kubeconfig and waits until it is ready.
    ///
    /// # Errors
    /// When it has not been built or does not get ready in time.
    pub async fn start(kubeconfig: &Path, options: WeirOptions) -> Result<Self> {
        let program = weir_program()?;
        let folder = Folder::new("run")?;
        let ports = Ports::free()?;
        let process = spawn(&program, kubeconfig, &folder, ports, &options)?;
        let mut weir = Self { process, program, kubeconfig: kubeconfig.to_owned(), ports, options, folder };
        // A process that a kill point ends may be gone before it is ready.
        if weir.options.kill_point.is_none() {
            weir.process.becomes_ready(weir.ports.health).await?;
        }
        Ok(weir)
    }

    /// Starts it again, without a kill point, and waits until it is ready.
    ///
    /// # Errors
    /// As [`WeirProcess::start`].
    pub async fn restart(&mut self) -> Result<()> {
        self.process.kill();
        self.options.kill_point = None;
        self.process = spawn(&self.program, &self.kubeconfig, &self.folder, self.ports, &self.options)?;
        Ok(self.process.becomes_ready(self.ports.health).await?)
    }

    /// Kills it as the kernel does when memory runs out.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Asks it to stop and waits for its end.
    ///
    /// # Errors
    /// When it does not stop in time or fails doing so.
    pub async fn stop(&mut self) -> Result<()> {
        let status = self.process.stop(STOP_DEADLINE).await?;
        if !status.success() {
            bail!("weir run ended with {status}:\n{}", self.process.log_tail());
        }
        Ok(())
    }

    /// Waits until its kill point has ended it.
    ///
    /// # Errors
    /// When it still runs at the deadline, or has ended by something else.
    pub async fn wait_until_killed(&mut self, deadline: Duration) -> Result<()> {
        let point = self.options.kill_point.clone().unwrap_or_default();
        self.process.wait(deadline).await.with_context(|| format!("kill point {point} was not reached"))?;
        ensure!(
            self.folder.join(KILLED).exists(),
            "it has ended before {point}:\n{}",
            self.process.log_tail()
        );
        Ok(())
    }

    /// Fails when it has ended.
    ///
    /// # Errors
    /// With the end of its log.
    pub fn check_running(&mut self) -> Result<()> {
        Ok(self.process.check_running()?)
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Everything it has logged.
    #[must_use]
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// Host and port of its gRPC server.
    #[must_use]
    pub fn grpc_address(&self) -> String {
        self.ports.grpc_address()
    }

    /// The URL of a webhook path.
    #[must_use]
    pub fn receiver_url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.ports.receiver)
    }

    /// The URL of its metrics.
    #[must_use]
    pub fn metrics_url(&self) -> String {
        format!("http://127.0.0.1:{}/metrics", self.ports.metrics)
    }

    /// The folder of its artifacts and state.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs another `weir` command against the same cluster and returns what it printed.
    ///
    /// # Errors
    /// With what it wrote to standard error when it fails.
    pub async fn cli(&self, arguments: &[&str]) -> Result<String> {
        let mut command = tokio::process::Command::new(&self.program);
        command.args(arguments).env("KUBECONFIG", &self.kubeconfig);
        let output = command.output().await?;
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            bail!("weir {} failed ({}): {errors}", arguments.join(" "), output.status);
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for WeirProcess {
    fn drop(&mut self) {
        keep_log(self.process.log_path(), "weir");
    }
}

fn spawn(
    program: &Path,
    kubeconfig: &Path,
    folder: &Folder,
    ports: Ports,
    options: &WeirOptions,
) -> Result<Process> {
    let address = |port: u16| format!("127.0.0.1:{port}");
    for name in ["artifacts", "state", "tmp"] {
        std::fs::create_dir_all(folder.join(name))?;
    }
    let mut command = Command::new(program);
    command
        .current_dir(folder.path())
        .env("KUBECONFIG", kubeconfig)
        .env("RUNTIME_NAMESPACE", "flux-system")
        .env("TMPDIR", folder.join("tmp"))
        .env("NO_PROXY", "127.0.0.1,localhost")
        .envs(options.environment.iter().cloned())
        .arg("run")
        .arg("--storage-path")
        .arg(folder.join("artifacts"))
        .arg("--state-dir")
        .arg(folder.join("state"))
        .args(["--storage-addr", &address(ports.storage)])
        .args(["--storage-adv-addr", &address(ports.storage)])
        .args(["--events-addr", &address(ports.events)])
        .args(["--receiver-addr", &address(ports.receiver)])
        .args(["--grpc-addr", &address(ports.grpc)])
        .args(["--metrics-addr", &address(ports.metrics)])
        .args(["--health-addr", &address(ports.health)])
        .args(&options.arguments);
    if let Some(point) = &options.kill_point {
        command.env("WEIR_KILL_POINT", point).env("WEIR_KILL_FILE", folder.join(KILLED));
    }
    Ok(Process::start("weir run", &mut command, &folder.join("weir.log"))?)
}

/// Folder of the generated CRDs.
pub(crate) fn crds() -> PathBuf {
    repo_path("deploy/kustomize/crds")
}
