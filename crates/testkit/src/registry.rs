//! A real container registry (distribution) on loopback, over plain HTTP.

mod attach;
mod image;
mod push;

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

pub use self::push::Artifact;
use crate::control_plane::Program;
use crate::{Error, Folder, Process, free_port};

/// The registry is up in a tenth of a second; the rest is for a busy machine.
const READY_DEADLINE: Duration = Duration::from_secs(60);

/// The one user of a registry that asks for a password.
const USER: &str = "user";
const PASSWORD: &str = "pass";

/// `user:pass` as an htpasswd line. bcrypt is what the registry takes; cost 4, since every request pays for it.
const HTPASSWD: &str = "user:$2a$04$C3TtZd0Eeo96uBaFZfQuCuPT/abX7RwaWYNLEoRQqszeGVgPDrE4G\n";

/// A running registry with an empty store.
#[derive(Debug)]
pub struct Registry {
    _process: Process,
    address: String,
    client: reqwest::Client,
    with_auth: bool,
    _folder: Folder,
}

impl Registry {
    /// Starts a registry that anyone may read and write.
    ///
    /// # Errors
    /// When its program is missing or does not get ready in time.
    pub async fn start() -> Result<Self, Error> {
        Self::start_with(false).await
    }

    /// Starts a registry that wants basic authentication as `user` with password `pass`.
    ///
    /// # Errors
    /// When its program is missing or does not get ready in time.
    pub async fn start_with_basic_auth() -> Result<Self, Error> {
        Self::start_with(true).await
    }

    async fn start_with(with_auth: bool) -> Result<Self, Error> {
        let folder = Folder::new("registry")?;
        let address = format!("127.0.0.1:{}", free_port()?);
        let mut auth = json!({});
        if with_auth {
            let htpasswd = folder.write("htpasswd", HTPASSWD)?;
            auth = json!({"htpasswd": {"realm": "weir-test", "path": htpasswd}});
        }
        let config = json!({
            "version": "0.1",
            "log": {"level": "warn"},
            "auth": auth,
            "storage": {"filesystem": {"rootdirectory": folder.join("store")}, "delete": {"enabled": true}},
            "http": {"addr": address},
        });
        // YAML is what it reads, and JSON is YAML.
        let config = folder.write("config.yml", config.to_string())?;
        let mut command = Program::find().await?.registry(&config);
        let mut process = Process::start("registry", &mut command, &folder.join("registry.log"))?;
        // A proxy of the environment would get requests for loopback addresses otherwise.
        let client = reqwest::Client::builder().no_proxy().build().map_err(Error::http("make a client"))?;
        process.answers(&format!("http://{address}/v2/"), &client, READY_DEADLINE).await?;
        Ok(Self { _process: process, address, client, with_auth, _folder: folder })
    }

    /// Host and port.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The `oci://` URL of a repository.
    #[must_use]
    pub fn url(&self, repository: &str) -> String {
        format!("oci://{}/{repository}", self.address)
    }

    /// The content of a `kubernetes.io/dockerconfigjson` Secret with this registry's credentials.
    #[must_use]
    pub fn docker_config(&self) -> String {
        let auth = STANDARD.encode(format!("{USER}:{PASSWORD}"));
        let entry = json!({"username": USER, "password": PASSWORD, "auth": auth});
        json!({"auths": {self.address.as_str(): entry}}).to_string()
    }
}
