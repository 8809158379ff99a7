//! Google's default credentials: the file that the environment names, of a person the one that gcloud keeps, else the metadata
//! server.

use std::path::{Path, PathBuf};

use reqwest::Client;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::external_account::ExternalAccount;
use super::metadata::Metadata;
use super::{SCOPES, ServiceAccount, User, impersonate, service_account};
use crate::credentials::Login;
use crate::error::ProviderError;
use crate::identity::Identity;

const FILE_VARIABLE: &str = "GOOGLE_APPLICATION_CREDENTIALS";
/// Names the folder of gcloud.
const FOLDER_VARIABLE: &str = "CLOUDSDK_CONFIG";
/// The folder where it is not named, in the home directory.
const FOLDER: &str = ".config/gcloud";
/// Made by `gcloud auth application-default login`.
const FILE: &str = "application_default_credentials.json";
/// Bytes of such a file and of one with a token.
const MAX_FILE: u64 = 1 << 20;

/// A service account, and whoever may act as it (`gcloud auth application-default login --impersonate-service-account`).
#[derive(Deserialize)]
struct Impersonated {
    service_account_impersonation_url: String,
    #[serde(default)]
    delegates: Vec<String>,
    source_credentials: Box<RawValue>,
}

/// A login as the Pod, or as the person or the CI job that runs this command.
pub(super) async fn login(client: &Client, identity: &Identity) -> Result<Login, ProviderError> {
    let kept = || kept_file().filter(|path| path.exists());
    let file = match identity {
        Identity::Person => named_file().or_else(kept),
        Identity::Pod(_) | Identity::Account(_) => named_file(),
    };
    match file {
        Some(path) => of_file(client, identity, &read(&path).await?).await,
        None => Metadata::new()?.login().await,
    }
}

fn named_file() -> Option<PathBuf> {
    std::env::var_os(FILE_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Path of the file that gcloud keeps for a person.
fn kept_file() -> Option<PathBuf> {
    let folder = std::env::var_os(FOLDER_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(FOLDER)))?;
    Some(folder.join(FILE))
}

async fn of_file(client: &Client, identity: &Identity, file: &[u8]) -> Result<Login, ProviderError> {
    if kind(file)? != "impersonated_service_account" {
        return of_source(client, identity, file).await;
    }
    let Impersonated { service_account_impersonation_url, delegates, source_credentials } = parse(file)?;
    let source = of_source(client, identity, source_credentials.get().as_bytes()).await?;
    impersonate(client, &service_account_impersonation_url, &delegates, &source).await
}

async fn of_source(client: &Client, identity: &Identity, file: &[u8]) -> Result<Login, ProviderError> {
    match kind(file)?.as_str() {
        service_account::KIND => {
            let account = ServiceAccount::parse(file).map_err(|error| unusable(error.to_string()))?;
            account.login(client, &SCOPES.join(" ")).await
        }
        "authorized_user" => parse::<User>(file)?.login(client).await,
        "external_account" => parse::<ExternalAccount>(file)?.login(client, identity).await,
        other => Err(unusable(format!("credentials of the type '{other}' are not known"))),
    }
}

fn kind(file: &[u8]) -> Result<String, ProviderError> {
    #[derive(Deserialize)]
    struct Kind {
        #[serde(rename = "type")]
        kind: String,
    }
    parse::<Kind>(file).map(|found| found.kind)
}

/// Reads JSON; an error names the place and nothing of what stands there.
fn parse<T: DeserializeOwned>(file: &[u8]) -> Result<T, ProviderError> {
    serde_json::from_slice(file).map_err(|error| {
        unusable(format!("it has another form (line {}, column {})", error.line(), error.column()))
    })
}

pub(super) async fn read(path: &Path) -> Result<Vec<u8>, ProviderError> {
    let failed = |error: std::io::Error| unusable(format!("{}: {error}", path.display()));
    let length = tokio::fs::metadata(path).await.map_err(failed)?.len();
    if length > MAX_FILE {
        return Err(unusable(format!("{} is larger than {MAX_FILE} bytes", path.display())));
    }
    tokio::fs::read(path).await.map_err(failed)
}

pub(super) fn unusable(reason: String) -> ProviderError {
    ProviderError::Unusable { what: "file with Google's default credentials", reason }
}
