//! Google service accounts.

use super::{ASSERTION_LIFE, Session, seconds, token};
use crate::error::Error;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use reqwest::Client;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use std::time::SystemTime;
use url::Url;

/// What the token is good for: reading objects.
const SCOPE: &str = "https://www.googleapis.com/auth/devstorage.read_only";
const GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const SERVICE_ACCOUNT: &str = "service_account";

/// The key of a service account, as Google's console gives it out.
#[derive(Debug, Clone)]
pub struct ServiceAccount {
    email: String,
    key_id: String,
    key: SecretString,
    token_uri: Url,
}

#[derive(Deserialize)]
struct Key {
    #[serde(rename = "type")]
    kind: String,
    client_email: String,
    #[serde(default)]
    private_key_id: String,
    private_key: String,
    #[serde(default = "google_tokens")]
    token_uri: String,
}

fn google_tokens() -> String {
    "https://oauth2.googleapis.com/token".to_owned()
}

#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    scope: &'a str,
    aud: &'a str,
    iat: u64,
    exp: u64,
}

impl ServiceAccount {
    /// Reads a key. Other kinds of credentials may name files and programs of this machine and are refused.
    ///
    /// # Errors
    /// When it is no key of a service account, or wants its token from somewhere unsafe.
    pub fn parse(json: &[u8]) -> Result<ServiceAccount, Error> {
        let refuse = |reason: &str| Error::Credential { what: "'serviceaccount'", reason: reason.to_owned() };
        let key: Key =
            serde_json::from_slice(json).map_err(|_| refuse("it is not a JSON service account key"))?;
        if key.kind != SERVICE_ACCOUNT {
            return Err(refuse("its type is not 'service_account'"));
        }
        let token_uri = Url::parse(&key.token_uri).map_err(|_| refuse("its token_uri is no URL"))?;
        let is_loopback = matches!(token_uri.host_str(), Some("127.0.0.1" | "localhost"));
        if token_uri.scheme() != "https" && !is_loopback {
            return Err(refuse("its token_uri is not https"));
        }
        let (email, key_id) = (key.client_email, key.private_key_id);
        Ok(ServiceAccount { email, key_id, key: key.private_key.into(), token_uri })
    }

    /// A token to read objects with.
    ///
    /// # Errors
    /// When the key cannot be used or the token server says no.
    pub async fn token(&self, client: &Client) -> Result<Session<SecretString>, Error> {
        let now = SystemTime::now();
        let claims = Claims {
            iss: &self.email,
            scope: SCOPE,
            aud: self.token_uri.as_str(),
            iat: seconds(now),
            exp: seconds(now + ASSERTION_LIFE),
        };
        let mut header = Header::new(Algorithm::RS256);
        header.kid = Some(self.key_id.clone()).filter(|id| !id.is_empty());
        let unusable = |_| Error::Credential {
            what: "'serviceaccount'",
            reason: "its private key is no RSA key".to_owned(),
        };
        let key = EncodingKey::from_rsa_pem(self.key.expose_secret().as_bytes()).map_err(unusable)?;
        let assertion = jsonwebtoken::encode(&header, &claims, &key).map_err(unusable)?;
        let form = [("grant_type", GRANT), ("assertion", assertion.as_str())];
        token(client, &self.token_uri, &form, vec![assertion.clone().into(), self.key.clone()]).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("{", "'serviceaccount': it is not a JSON service account key")]
    #[case(
        r#"{"type":"external_account","client_email":"e","private_key":"k"}"#,
        "'serviceaccount': its type is not 'service_account'"
    )]
    #[case(r#"{"type":"service_account","client_email":"e","private_key":"k","token_uri":"http://evil.example.com/"}"#, "'serviceaccount': its token_uri is not https")]
    fn refused(#[case] json: &str, #[case] message: &str) {
        assert_eq!(ServiceAccount::parse(json.as_bytes()).unwrap_err().to_string(), message);
    }
}
