//! The way into a registry: flags, docker's configuration, or a login of a cloud (CLI-ART04).

use std::time::Duration;

use clap::Args;
use secrecy::{ExposeSecret, SecretString};
use weir_auth::{Caller, Logins, Provider, RegistryCredentials};
use weir_oci::{Profile, Registries, Registry, RegistryOptions, Repository};

use super::keychain;
use crate::enumeration;
use crate::error::Error;
use crate::output::progress;

/// The way into a registry.
#[derive(Args, Debug)]
pub(super) struct Login {
    /// Credentials of the registry: user:password, or a token. Without them, those of docker's configuration are used.
    #[arg(long, value_name = "USER:PASSWORD", value_parser = |text: &str| Ok::<_, String>(SecretString::from(text)))]
    creds: Option<SecretString>,
    /// Cloud in which the identity of this machine logs in.
    #[arg(long, value_parser = enumeration::OCI_PROVIDER, default_value = "generic")]
    provider: String,
    /// Allow registries without TLS, or with any certificate.
    #[arg(long)]
    insecure_registry: bool,
}

impl Login {
    /// Opens a repository, after the credentials for it were found.
    pub(super) async fn open(&self, repository: &Repository, timeout: Duration) -> Result<Registry, Error> {
        let given = self.creds.as_ref().filter(|creds| !creds.expose_secret().is_empty());
        let credentials = match (Provider::parse(Some(&self.provider)), given) {
            (Some(provider), _) => {
                progress::action("logging in to registry with provider credentials");
                cloud(provider, repository, timeout).await?
            }
            (None, Some(creds)) => {
                progress::action("logging in to registry with credentials");
                static_credentials(creds)
            }
            (None, None) => keychain::find(repository).await?,
        };
        let insecure = self.insecure_registry;
        let http = Profile { accept_invalid_certificates: insecure, ..Profile::default() };
        let options = RegistryOptions { insecure, plain_at_home: true, credentials, http, timeout };
        let opened = Registries::new().open(repository, options);
        opened.map_err(|error| Error::Artifact(error.to_string()))
    }
}

/// Reads `user:password`, or a token that the registry takes as it is.
fn static_credentials(creds: &SecretString) -> RegistryCredentials {
    match creds.expose_secret().split_once(':') {
        Some((username, password)) => {
            RegistryCredentials::Basic { username: username.to_owned(), password: password.into() }
        }
        None => RegistryCredentials::Bearer(creds.clone()),
    }
}

/// Logs in as the person or the CI job that runs this command, or as this machine.
async fn cloud(
    provider: Provider,
    repository: &Repository,
    timeout: Duration,
) -> Result<RegistryCredentials, Error> {
    let failed = |reason: String| Error::Artifact(format!("error during login with provider: {reason}"));
    let http = &Profile::default();
    let caller = Caller { kind: "", namespace: "", name: "", account: None, http, timeout };
    let login = Logins::of_process().registry(provider, &caller, repository.host()).await;
    login.map_err(|error| failed(error.to_string()))
}
