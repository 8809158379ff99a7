//! A private repository over SSH, where the articles have GitHub, and the command that a person uses beside it.

use std::process::Stdio;

use anyhow::{Result, ensure};
use weir_testkit::{FaultProxy, Folder, GitRepo, SshGitServer};

use super::DEADLINE;
use super::world::{World, host_of};
use crate::weir_program;

/// The configuration of a cluster, in its repository.
pub(super) struct Fleet<'a> {
    pub(super) world: &'a World,
    pub(super) ssh: SshGitServer,
    pub(super) repo: GitRepo,
    /// Host and port of the SSH server on this machine, and the way there for Pods.
    own_address: String,
    front: FaultProxy,
    folder: Folder,
}

impl<'a> Fleet<'a> {
    pub(super) async fn new(world: &'a World) -> Result<Self> {
        let ssh = SshGitServer::start().await?;
        let repo = ssh.repo("task-tool-cluster-config")?;
        let own_address = host_of(&ssh.url("any"))?.trim_start_matches(|it| it != '@').replace('@', "");
        let front = world.cluster.front_for(&own_address).await?;
        let folder = Folder::new("task-tool")?;
        folder.write("identity", ssh.identity())?;
        Ok(Self { world, ssh, own_address, front, repo, folder })
    }

    /// Installs Weir and pushes its manifests, as `weir bootstrap git` does.
    pub(super) async fn bootstrap(&self, flags: &str) -> Result<()> {
        let (url, registry) = (self.url(), self.world.cluster.registry_address());
        let key = self.folder.join("identity").display().to_string();
        let line = format!(
            "bootstrap git --url={url} --branch=main --path=./clusters/prod --registry={registry}/weir \
             --private-key-file={key} --silent {flags}"
        );
        self.weir(&line).await?;
        Ok(())
    }

    /// Runs the command with the words of a shell's line and returns its output.
    pub(super) async fn weir(&self, line: &str) -> Result<String> {
        let mut command = tokio::process::Command::new("sh");
        command.args(["-c", &format!("exec \"$WEIR\" {line}")]).env("WEIR", weir_program()?);
        command.env("KUBECONFIG", self.world.plane().kubeconfig_path()).stdin(Stdio::null());
        let output = tokio::time::timeout(2 * DEADLINE, command.kill_on_drop(true).output()).await??;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "weir {line} ended with {}: {errors}", output.status);
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Fails if a command does not print all of these.
    pub(super) async fn printed(&self, line: &str, texts: &[&str]) -> Result<()> {
        let printed = self.weir(line).await?;
        let missing: Vec<_> = texts.iter().filter(|text| !printed.contains(**text)).collect();
        ensure!(missing.is_empty(), "weir {line} does not show {missing:?}: {printed}");
        Ok(())
    }

    /// Commits files, and has the cluster's own source look now, as a webhook would.
    pub(super) async fn push(&self, message: &str, files: &[(&str, &str)]) -> Result<()> {
        self.repo.commit("main", message, files)?;
        self.weir("reconcile kustomization flux-system --with-source").await?;
        Ok(())
    }

    /// Commits that files are gone; the cluster follows.
    pub(super) async fn remove(&self, message: &str, paths: &[&str]) -> Result<()> {
        let change = self.repo.change("main").message(message);
        paths.iter().fold(change, |change, path| change.delete(path)).commit()?;
        self.weir("reconcile kustomization flux-system --with-source").await?;
        Ok(())
    }

    pub(super) fn url(&self) -> String {
        self.fronted(&self.ssh.url("task-tool-cluster-config"))
    }

    /// Replaces the server's own address, also as `known_hosts` has it, by the one that Pods reach.
    pub(super) fn fronted(&self, text: &str) -> String {
        let bracketed = |address: &str| match address.split_once(':') {
            Some((host, port)) => format!("[{host}]:{port}"),
            None => address.to_owned(),
        };
        let front = self.front.address();
        text.replace(&self.own_address, &front).replace(&bracketed(&self.own_address), &bracketed(&front))
    }
}
