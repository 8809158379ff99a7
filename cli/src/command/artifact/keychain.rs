//! Credentials that docker has for a registry: in its configuration, or with a credential helper.

use std::path::PathBuf;
use std::process::Stdio;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use weir_auth::{DockerConfig, Keyring, RegistryCredentials};
use weir_oci::Repository;

use crate::error::Error;
use crate::input;

/// Name of the registry of Docker Hub, and the name that docker has for it.
const DOCKER_HUB: (&str, &str) = ("index.docker.io", "https://index.docker.io/v1/");
/// User name with which helpers say that the secret is a token.
const TOKEN_USER: &str = "<token>";
/// Words of a helper that has nothing for a registry.
const NOT_FOUND: &str = "credentials not found";

/// The parts of docker's configuration that are about credentials.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Config {
    auths: Map<String, Value>,
    creds_store: String,
    cred_helpers: std::collections::BTreeMap<String, String>,
}

/// An answer of a credential helper.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    username: String,
    secret: String,
}

/// Returns the credentials for a repository; anonymous ones where docker knows none.
pub(super) async fn find(repository: &Repository) -> Result<RegistryCredentials, Error> {
    let Some(path) = path() else { return Ok(RegistryCredentials::Anonymous) };
    let unusable = |reason: String| Error::Flags(format!("{}: {reason}", path.display()));
    let config: Config =
        serde_json::from_str(&input::text(&path)?).map_err(|error| unusable(error.to_string()))?;
    let (hub, name_of_hub) = DOCKER_HUB;
    let name = if repository.host() == hub { name_of_hub } else { repository.host() };
    let helper = config.cred_helpers.get(name).unwrap_or(&config.creds_store);
    if !helper.is_empty()
        && let Some(credentials) = ask(helper, name).await?
    {
        return Ok(credentials);
    }
    let mut ring = Keyring::default();
    let auths = json!({ "auths": config.auths }).to_string();
    ring.add(DockerConfig::parse(auths.as_bytes()).map_err(|error| unusable(error.to_string()))?);
    Ok(ring.lookup(repository.host(), repository.path()).into_iter().next().unwrap_or_default())
}

/// Returns the first file there is of docker's and podman's.
fn path() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let docker = variable("DOCKER_CONFIG").or_else(|| Some(variable("HOME")?.join(".docker")));
    let candidates = [
        docker.map(|folder| folder.join("config.json")),
        variable("REGISTRY_AUTH_FILE"),
        variable("XDG_RUNTIME_DIR").map(|folder| folder.join("containers/auth.json")),
    ];
    candidates.into_iter().flatten().find(|path| path.is_file())
}

/// Asks a credential helper; nothing when it has no credentials for the registry.
async fn ask(helper: &str, registry: &str) -> Result<Option<RegistryCredentials>, Error> {
    let program = format!("docker-credential-{helper}");
    let failed = |reason: String| Error::Flags(format!("credential helper {program}: {reason}"));
    let mut command = Command::new(&program);
    command.arg("get").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(registry.as_bytes()).await.map_err(|error| failed(error.to_string()))?;
    }
    let output = child.wait_with_output().await.map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        // The protocol has errors on stdout.
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        return if said.contains(NOT_FOUND) { Ok(None) } else { Err(failed(said)) };
    }
    let answer: Answer = serde_json::from_slice(&output.stdout)
        .map_err(|_| failed("its answer is no JSON with Username and Secret".to_owned()))?;
    Ok(Some(match answer.username.as_str() {
        TOKEN_USER => RegistryCredentials::IdentityToken(answer.secret.into()),
        _ => RegistryCredentials::Basic { username: answer.username, password: answer.secret.into() },
    }))
}
