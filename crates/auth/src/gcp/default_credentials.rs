//! The pod's own identity: the file that the environment names, else the metadata server.

use std::path::Path;

use reqwest::Client;
use serde::Deserialize;

use super::metadata::Metadata;
use super::{SCOPES, ServiceAccount, User, exchange, impersonate};
use crate::credentials::Login;
use crate::error::ProviderError;

const FILE_VARIABLE: &str = "GOOGLE_APPLICATION_CREDENTIALS";
/// Bytes of that file and of one with a token.
const MAX_FILE: u64 = 1 << 20;

/// The kinds of files that pods are given.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum File {
    /// A service account's key.
    ServiceAccount {},
    /// A person's account, for a command that they run.
    AuthorizedUser(User),
    /// Another issuer's token, mounted as a file.
    ExternalAccount {
        audience: String,
        token_url: String,
        service_account_impersonation_url: Option<String>,
        credential_source: Source,
    },
}

#[derive(Deserialize)]
struct Source {
    file: String,
}

pub(super) async fn login(client: &Client) -> Result<Login, ProviderError> {
    let Some(path) = std::env::var_os(FILE_VARIABLE) else { return Metadata::new()?.login().await };
    let bytes = read(Path::new(&path)).await?;
    let file = serde_json::from_slice(&bytes).map_err(|error| unusable(error.to_string()))?;
    match file {
        File::ServiceAccount {} => {
            let account = ServiceAccount::parse(&bytes).map_err(|error| unusable(error.to_string()))?;
            account.login(client, &SCOPES.join(" ")).await
        }
        File::AuthorizedUser(user) => user.login(client).await,
        File::ExternalAccount {
            audience,
            token_url,
            service_account_impersonation_url,
            credential_source,
        } => {
            let token = String::from_utf8(read(Path::new(&credential_source.file)).await?);
            let token = token.map_err(|_| unusable("its token is no text".to_owned()))?;
            let login = exchange(client, &token_url, &audience, &token.trim().to_owned().into()).await?;
            match service_account_impersonation_url {
                Some(url) => impersonate(client, &url, &login).await,
                None => Ok(login),
            }
        }
    }
}

async fn read(path: &Path) -> Result<Vec<u8>, ProviderError> {
    let failed = |error: std::io::Error| unusable(format!("{}: {error}", path.display()));
    let length = tokio::fs::metadata(path).await.map_err(failed)?.len();
    if length > MAX_FILE {
        return Err(unusable(format!("{} is larger than {MAX_FILE} bytes", path.display())));
    }
    tokio::fs::read(path).await.map_err(failed)
}

fn unusable(reason: String) -> ProviderError {
    ProviderError::Unusable { what: "file named by GOOGLE_APPLICATION_CREDENTIALS", reason }
}
