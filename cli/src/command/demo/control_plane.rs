//! A control plane without nodes: etcd and kube-apiserver, started from programs that are at hand.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;
use tokio::process::Command;

use super::process::{Stage, free_ports};
use crate::error::{Error, chain};

/// Variables that name the programs, the first one first.
const VARIABLES: [&str; 2] = ["WEIR_CONTROL_PLANE", "KUBEBUILDER_ASSETS"];
/// Start of the folders in the cache, and the program in them, as `make control-plane` names them.
const CACHED: (&str, &str) = ("control-plane-", "control-plane");
/// Certificate of the API server with that of its authority, which it makes itself.
const CERTIFICATE: &str = "certificates/apiserver.crt";
/// Key of that certificate.
const KEY: &str = "certificates/apiserver.key";

/// The programs of a control plane.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Programs {
    /// The one that `make control-plane` builds; its first argument says which part it is.
    One(PathBuf),
    /// Those of a folder.
    Folder(PathBuf),
}

impl Programs {
    /// Finds the programs: those that the flag names, else a variable of the environment, else the newest of the cache.
    pub(super) fn find(given: Option<&Path>) -> Result<Self, Error> {
        let named = given
            .map(|path| ("--control-plane", path.to_owned()))
            .or_else(|| VARIABLES.into_iter().find_map(|name| Some((name, filled(name)?.into()))));
        match named {
            Some((by, path)) if path.is_dir() => {
                for program in ["etcd", "kube-apiserver"] {
                    if !path.join(program).is_file() {
                        return Err(Error::Demo(format!("{by}: there is no {program} in {}", path.display())));
                    }
                }
                Ok(Self::Folder(path))
            }
            Some((_, path)) if path.is_file() => Ok(Self::One(path)),
            Some((by, path)) => Err(Error::Demo(format!("{by}: there is no {}", path.display()))),
            None => cached().map(Self::One).ok_or_else(|| {
                Error::Demo(
                    "no programs of a control plane were found: build one with `make control-plane` in Weir's repository, or \
                     name a folder that holds etcd and kube-apiserver, such as that of setup-envtest, with --control-plane"
                        .to_owned(),
                )
            }),
        }
    }

    fn etcd(&self, data: &Path, client: &str, peer: &str) -> Command {
        match self {
            Self::One(program) => {
                let mut command = Command::new(program);
                command.arg("etcd").arg(data).args([client, peer]);
                command
            }
            Self::Folder(folder) => {
                let mut command = Command::new(folder.join("etcd"));
                command.args(["--log-level=error", "--unsafe-no-fsync", "--data-dir"]).arg(data).args([
                    format!("--listen-client-urls={client}"),
                    format!("--advertise-client-urls={client}"),
                    format!("--listen-peer-urls={peer}"),
                    format!("--initial-advertise-peer-urls={peer}"),
                    format!("--initial-cluster=default={peer}"),
                ]);
                command
            }
        }
    }

    fn api_server(&self) -> Command {
        match self {
            Self::One(program) => {
                let mut command = Command::new(program);
                command.arg("kube-apiserver");
                command
            }
            Self::Folder(folder) => Command::new(folder.join("kube-apiserver")),
        }
    }
}

/// A control plane that serves.
pub(super) struct ControlPlane {
    /// Client of the administrator.
    pub(super) client: Client,
    /// The administrator's kubeconfig.
    pub(super) kubeconfig: PathBuf,
    /// Version of Kubernetes.
    pub(super) version: String,
}

impl ControlPlane {
    /// Starts a control plane and waits until it serves.
    pub(super) async fn start(stage: &mut Stage, programs: &Programs) -> Result<Self, Error> {
        let [client, peer, port] = free_ports()?;
        let address = |port: u16| format!("http://127.0.0.1:{port}");
        let etcd = programs.etcd(&stage.path("etcd"), &address(client), &address(peer));
        stage.start("etcd", etcd)?;
        // The API server is open to all users of this machine, its folder is not.
        let token = hex::encode(rand::random::<[u8; 16]>());
        stage.write("tokens.csv", &format!("{token},admin,1,system:masters\n"))?;
        let mut server = programs.api_server();
        server.args(flags(stage, &address(client), port));
        stage.start("kube-apiserver", server)?;
        let kubeconfig = stage.write("kubeconfig", &kubeconfig(&stage.path(CERTIFICATE), port, &token))?;
        let (client, version) = stage
            .until(async || {
                let client = client_of(&kubeconfig).await.ok()?;
                let ready = http::Request::get("/readyz").body(Vec::new()).ok()?;
                client.request_text(ready).await.ok()?;
                let version = client.apiserver_version().await.ok()?;
                Some((client, version.git_version))
            })
            .await?;
        Ok(Self { client, kubeconfig, version })
    }
}

fn flags(stage: &Stage, etcd: &str, port: u16) -> Vec<String> {
    let file = |name: &str| stage.path(name).display().to_string();
    vec![
        format!("--etcd-servers={etcd}"),
        format!("--secure-port={port}"),
        "--bind-address=127.0.0.1".to_owned(),
        // Without it a machine that has no default route cannot start it.
        "--advertise-address=127.0.0.1".to_owned(),
        // No Service may lead to the loopback address.
        "--endpoint-reconciler-type=none".to_owned(),
        format!("--cert-dir={}", file("certificates")),
        format!("--token-auth-file={}", file("tokens.csv")),
        "--authorization-mode=RBAC".to_owned(),
        // Tokens of ServiceAccounts are signed by the key of its own certificate: nobody uses them here.
        format!("--service-account-key-file={}", file(KEY)),
        format!("--service-account-signing-key-file={}", file(KEY)),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
    ]
}

fn kubeconfig(authority: &Path, port: u16, token: &str) -> String {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "weir-demo",
        "clusters": [{ "name": "weir-demo", "cluster": {
            "server": format!("https://127.0.0.1:{port}"), "certificate-authority": authority.display().to_string() } }],
        "users": [{ "name": "admin", "user": { "token": token } }],
        "contexts": [{ "name": "weir-demo", "context": { "cluster": "weir-demo", "user": "admin" } }],
    })
    .to_string()
}

async fn client_of(kubeconfig: &Path) -> Result<Client, Error> {
    let failed = |error: &dyn std::error::Error| Error::KubeConfig(chain(error));
    let file = Kubeconfig::read_from(kubeconfig).map_err(|error| failed(&error))?;
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(|error| failed(&error))?;
    // Loopback is no proxy's business.
    config.proxy_url = None;
    Ok(weir_runtime::client::builder(config)?.build())
}

fn filled(variable: &str) -> Option<OsString> {
    std::env::var_os(variable).filter(|value| !value.is_empty())
}

/// Returns the newest program of the cache.
fn cached() -> Option<PathBuf> {
    let (prefix, program) = CACHED;
    let user = || {
        let cache = filled("XDG_CACHE_HOME").map(PathBuf::from);
        cache.or_else(|| Some(PathBuf::from(filled("HOME")?).join(".cache"))).map(|cache| cache.join("weir"))
    };
    let folder = filled("WEIR_CACHE").map(PathBuf::from).or_else(user)?;
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let folders = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    let programs = folders.filter_map(|entry| {
        let path = entry.path().join(program);
        let file = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some((file.modified().ok()?, path))
    });
    programs.max().map(|(_, path)| path)
}
