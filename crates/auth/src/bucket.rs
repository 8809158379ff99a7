//! The login to a bucket with the content of its Secret (SRC-BKT-11).

use std::sync::Arc;

use secrecy::{SecretSlice, SecretString};
use weir_http::{SecretData, text};

use crate::azure::{Application, Proof, STORAGE_SCOPE};
use crate::credentials::Login;
use crate::error::LoginError;
use crate::gcp::{ServiceAccount, ServiceAccountError};
use crate::held::Held;
use crate::identity::Caller;
use crate::logins::Logins;

/// Reading objects at Google.
const GCP_STORAGE: &str = "https://www.googleapis.com/auth/devstorage.read_only";
const SERVICE_ACCOUNT: &str = "serviceaccount";

/// Something in a Secret that is traded for a token.
#[derive(Debug, Clone)]
pub struct BucketLogin(Held);

/// Errors in the key of a Google service account in a Secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BucketLoginError {
    /// It is not there.
    #[error("required fields '{SERVICE_ACCOUNT}'")]
    NoServiceAccount,
    /// It is none.
    #[error("'{SERVICE_ACCOUNT}': {0}")]
    ServiceAccount(#[from] ServiceAccountError),
}

impl BucketLogin {
    /// The Google service account of a Secret.
    ///
    /// # Errors
    /// When there is none, or it cannot be used.
    pub fn gcp(data: &SecretData) -> Result<Self, BucketLoginError> {
        let key = data.get(SERVICE_ACCOUNT).ok_or(BucketLoginError::NoServiceAccount)?;
        Ok(Self(Held::Google(ServiceAccount::parse(key)?)))
    }

    /// The application of Azure that a Secret describes, or the identity of the machine that it names; nothing when it
    /// holds neither.
    #[must_use]
    pub fn azure(data: &SecretData) -> Option<Self> {
        let client = text(data, "clientId")?;
        let holder = match text(data, "tenantId").zip(proof(data)) {
            Some((tenant, proof)) => Held::Application(Application {
                tenant,
                client,
                authority: text(data, "authorityHost"),
                proof,
            }),
            None => Held::Machine(client),
        };
        Some(Self(holder))
    }

    /// Returns true when the token is that of an identity of this machine: the Secret only names it.
    #[must_use]
    pub fn is_of_machine(&self) -> bool {
        matches!(self.0, Held::Machine(_))
    }

    fn scope(&self) -> &'static str {
        match &self.0 {
            Held::Google(_) | Held::User(_) => GCP_STORAGE,
            Held::Application(_) | Held::Machine(_) => STORAGE_SCOPE,
        }
    }
}

/// A secret before a certificate, as Flux looks for them; empty ones are none.
fn proof(data: &SecretData) -> Option<Proof> {
    let field = |name| text(data, name).filter(|value| !value.is_empty());
    if let Some(secret) = field("clientSecret") {
        return Some(Proof::Secret(secret.into()));
    }
    let file = data.get("clientCertificate").filter(|file| !file.is_empty())?;
    let send_chain = field("clientCertificateSendChain").map(|value| value.to_ascii_lowercase());
    Some(Proof::Certificate {
        file: SecretSlice::from(file.clone()),
        password: field("clientCertificatePassword").map(SecretString::from).unwrap_or_default(),
        send_chain: matches!(send_chain.as_deref(), Some("1" | "true")),
    })
}

impl Logins {
    /// The token that a provider gives for what the Secret holds.
    ///
    /// # Errors
    /// When it cannot be used or the provider refuses.
    pub async fn bucket(&self, caller: &Caller<'_>, login: &BucketLogin) -> Result<Arc<Login>, LoginError> {
        self.held(caller, &login.0, login.scope()).await
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn key(pairs: &[(&str, &str)]) -> String {
        let data = pairs.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()));
        BucketLogin::azure(&data.collect()).unwrap().0.key(STORAGE_SCOPE)
    }

    #[test]
    fn keys_name_everything() {
        let (client, tenant) = (("clientId", "c"), ("tenantId", "t"));
        let certificate = ("clientCertificate", "p");
        let secrets: Vec<Vec<(&str, &str)>> = vec![
            vec![client],
            vec![("clientId", "d")],
            vec![client, tenant, ("clientSecret", "s")],
            vec![client, tenant, ("clientSecret", "p")],
            vec![client, ("tenantId", "u"), ("clientSecret", "s")],
            vec![client, tenant, ("clientSecret", "s"), ("authorityHost", "https://a")],
            vec![client, tenant, certificate],
            vec![client, tenant, certificate, ("clientCertificatePassword", "s")],
            vec![client, tenant, certificate, ("clientCertificateSendChain", "True")],
        ];
        let keys: HashSet<String> = secrets.iter().map(|pairs| key(pairs)).collect();
        assert_eq!(keys.len(), secrets.len());
        assert_eq!(key(&[client, tenant, ("clientSecret", "")]), key(&[client]), "an empty secret is none");
        assert!(keys.iter().all(|key| !key.contains("clientSecret") && key.len() < 150));
    }
}
