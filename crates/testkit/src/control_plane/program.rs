use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Error, program};

/// The origin of the control plane's programs.
#[derive(Debug, Clone)]
pub(crate) enum Program {
    /// The one program of `e2e/control-plane`, which picks the applet by its first argument.
    Applets(PathBuf),
    /// A folder with `etcd`, `kube-apiserver`, `kube-controller-manager` and `kubectl`. envtest's has all but the third.
    Assets(PathBuf),
}

impl Program {
    /// Takes `WEIR_CONTROL_PLANE`, else `KUBEBUILDER_ASSETS`, else builds the program once for this machine.
    pub(crate) async fn find() -> Result<Self, Error> {
        if let Some(path) = std::env::var_os("WEIR_CONTROL_PLANE") {
            return Ok(Self::Applets(existing(path.into(), "WEIR_CONTROL_PLANE names no file")?));
        }
        if let Some(path) = std::env::var_os("KUBEBUILDER_ASSETS") {
            return Ok(Self::Assets(existing(path.into(), "KUBEBUILDER_ASSETS names no folder")?));
        }
        program::made_by("e2e/control-plane/build", &[]).await.map(Self::Applets)
    }

    /// Returns the program, or the folder of the programs.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Applets(path) | Self::Assets(path) => path,
        }
    }

    pub(crate) fn etcd(&self, data: &Path, client_url: &str, peer_url: &str) -> Command {
        match self {
            Self::Applets(program) => {
                let mut command = Command::new(program);
                command.arg("etcd").arg(data).args([client_url, peer_url]);
                command
            }
            Self::Assets(folder) => {
                let mut command = Command::new(folder.join("etcd"));
                command.args(["--log-level=error", "--unsafe-no-fsync", "--data-dir"]).arg(data);
                command.arg(format!("--listen-client-urls={client_url}"));
                command.arg(format!("--advertise-client-urls={client_url}"));
                command.arg(format!("--listen-peer-urls={peer_url}"));
                command.arg(format!("--initial-advertise-peer-urls={peer_url}"));
                command.arg(format!("--initial-cluster=default={peer_url}"));
                command
            }
        }
    }

    pub(crate) fn api_server(&self) -> Command {
        self.named("kube-apiserver")
    }

    pub(crate) fn controller_manager(&self) -> Command {
        self.named("kube-controller-manager")
    }

    pub(crate) fn kubectl(&self) -> Command {
        self.named("kubectl")
    }

    pub(crate) fn registry(&self, config: &Path) -> Command {
        let mut command = match self {
            Self::Applets(program) => {
                let mut command = Command::new(program);
                command.arg("registry");
                command
            }
            Self::Assets(_) => {
                let mut command = Command::new("docker-registry");
                command.arg("serve");
                command
            }
        };
        command.arg(config);
        command
    }

    /// The program that has the parts of a node as applets; nothing where the programs are envtest's, which has none of them.
    pub(crate) fn applets(&self) -> Option<&Path> {
        match self {
            Self::Applets(program) => Some(program),
            Self::Assets(_) => None,
        }
    }

    fn named(&self, name: &str) -> Command {
        match self {
            Self::Applets(program) => {
                let mut command = Command::new(program);
                command.arg(name);
                command
            }
            Self::Assets(folder) => Command::new(folder.join(name)),
        }
    }
}

fn existing(path: PathBuf, hint: &'static str) -> Result<PathBuf, Error> {
    if path.exists() {
        Ok(path)
    } else {
        Err(Error::ProgramMissing { program: path.display().to_string(), hint })
    }
}
