//! Tokens for Vault: the Secret's, one for a ServiceAccount, or the environment's, in this order (KS-DEC-12, KS-DEC-13).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use parking_lot::Mutex;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;
use weir_auth::{Credentials, Operation, unverified_claims};

use super::retry;
use super::server::Server;
use crate::environment;
use crate::error::Error;
use crate::keys::Keys;

const TOKEN: &str = "VAULT_TOKEN";
/// File below the home directory.
const TOKEN_FILE: &str = ".vault-token";
/// Key of the ConfigMap.
const CONFIG: &str = "config.yaml";
/// Bytes of it: some thousand servers.
const MAX_CONFIG: usize = 1 << 20;

/// Tokens of this run, by the address of their Vault.
#[derive(Default)]
pub(crate) struct Tokens(Mutex<BTreeMap<String, SecretString>>);

/// The ConfigMap (`--sops-vault-configmap`) that says where ServiceAccounts log in. Vaults that it does not name are not told
/// who we are.
#[derive(Clone)]
pub struct LoginPaths {
    client: Client,
    namespace: String,
    name: String,
}

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    instances: Vec<Instance>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Instance {
    address: String,
    login_path: String,
}

#[derive(Deserialize)]
struct Answer {
    auth: Auth,
}

#[derive(Deserialize)]
struct Auth {
    client_token: String,
}

impl LoginPaths {
    /// `client` reads the ConfigMap each time that a ServiceAccount logs in.
    #[must_use]
    pub fn new(client: Client, namespace: &str, name: &str) -> Self {
        Self { client, namespace: namespace.to_owned(), name: name.to_owned() }
    }

    async fn path(&self, address: &str) -> Result<String, Error> {
        let place = format!("{}/{}", self.namespace, self.name);
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.namespace);
        let failed =
            |reason: String| Error::LoginPaths(format!("failed to get Vault ConfigMap '{place}': {reason}"));
        let found = api.get(&self.name).await.map_err(|error| match error {
            kube::Error::Api(status) => failed(status.message),
            other => failed(other.to_string()),
        })?;
        let text = found.data.unwrap_or_default().remove(CONFIG);
        let text = text.ok_or_else(|| {
            Error::LoginPaths(format!("Vault ConfigMap '{place}' is missing the '{CONFIG}' key"))
        })?;
        let config = (text.len() <= MAX_CONFIG).then(|| serde_saphyr::from_str::<Config>(&text));
        let Some(Ok(config)) = config else {
            let text = format!("failed to parse '{CONFIG}' in Vault ConfigMap '{place}'");
            return Err(Error::LoginPaths(text));
        };
        // Of several with one address the last counts.
        let found = config.instances.into_iter().rfind(|instance| instance.address == address);
        let path = found.map(|instance| instance.login_path).filter(|path| !path.is_empty());
        path.ok_or_else(|| Error::NoLoginPath { address: address.to_owned(), place })
    }
}

pub(super) async fn token(keys: &Keys, server: &Server) -> Result<SecretString, Error> {
    if let Some(token) = keys.held.vault.as_ref().filter(|token| !token.expose_secret().is_empty()) {
        return Ok(token.clone());
    }
    let Some(paths) = &keys.servers.login_paths else { return of_environment() };
    let known = keys.vault_tokens.0.lock().get(&server.address).cloned();
    if let Some(token) = known {
        return Ok(token);
    }
    let token = log_in(keys, server, &paths.path(&server.address).await?).await?;
    keys.vault_tokens.0.lock().insert(server.address.clone(), token.clone());
    Ok(token)
}

fn of_environment() -> Result<SecretString, Error> {
    if let Ok(token) = std::env::var(TOKEN)
        && !token.is_empty()
    {
        return Ok(token.into());
    }
    let file = environment::home(TOKEN_FILE).filter(|path| path.exists());
    let text = file.map(|path| environment::file("HOME", &path)).transpose()?;
    // Without a token the server says so.
    Ok(text.unwrap_or_default().trim().to_owned().into())
}

/// Trades a token of the owner's ServiceAccount, or of this service's, for one of Vault. The role is named for the account.
async fn log_in(keys: &Keys, server: &Server, path: &str) -> Result<SecretString, Error> {
    let audiences = [server.address.clone()];
    let logins = keys.logins(Operation::DecryptWithVault);
    let login = logins.kubernetes(&keys.caller(), &audiences).await;
    let login = login.map_err(Error::KubernetesToken)?;
    let Credentials::Bearer(token) = &login.credentials else { return Err(Error::Subject) };
    let role = role(token.expose_secret()).ok_or(Error::Subject)?;
    let body = json!({"role": role, "jwt": token.expose_secret()});
    let request = server.post(path)?.json(&body);
    let answer = retry::answer(request, token).await;
    let answer: Answer = answer.map_err(|source| Error::VaultLogin {
        address: server.address.clone(),
        path: path.to_owned(),
        role,
        source: Box::new(source),
    })?;
    Ok(answer.auth.client_token.into())
}

/// `namespace_name` of the ServiceAccount that a token is for.
fn role(token: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Claims {
        sub: String,
    }
    let Claims { sub } = unverified_claims(token)?;
    let (namespace, name) = sub.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    (!namespace.is_empty() && !name.is_empty()).then(|| format!("{namespace}_{name}"))
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;

    #[test]
    fn roles() {
        let token = |sub: &str| {
            let claims = json!({"sub": sub}).to_string();
            format!("head.{}.signature", URL_SAFE_NO_PAD.encode(claims))
        };
        assert_eq!(role(&token("system:serviceaccount:apps:sops")).as_deref(), Some("apps_sops"));
        assert_eq!(role(&token("system:node:a")), None);
        assert_eq!(role(&token("system:serviceaccount::sops")), None);
        assert_eq!(role("no token"), None);
    }
}
