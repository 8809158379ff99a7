//! A service account by its key: the pod's own, or one that a Secret holds (SRC-BKT-11).

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use reqwest::Client;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use url::Url;

use super::Answer;
use crate::cache::fingerprint;
use crate::credentials::Login;
use crate::error::{ProviderError, words};
use crate::rest;

/// The type of such files.
pub(super) const KIND: &str = "service_account";
const GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
pub(super) const TOKENS: &str = "https://oauth2.googleapis.com/token";
/// Life of the statement by which the account identifies itself, in seconds: the most that Google takes.
const STATEMENT_LIFE: u64 = 60 * 60;

/// The key of a service account, as Google's console gives it out.
#[derive(Debug, Clone)]
pub(crate) struct ServiceAccount {
    email: String,
    key_id: String,
    key: SecretString,
    token_uri: Url,
}

/// Errors in a service account's key. Nothing of it is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ServiceAccountError {
    /// It cannot be read.
    #[error("it is not a JSON service account key")]
    Form,
    /// Another kind of credential. Those may name files and programs of this machine.
    #[error("its type is not '{KIND}'")]
    Kind,
    /// The place that gives tokens is no address.
    #[error("its token_uri is no URL")]
    TokenUri,
    /// The place that gives tokens is asked without encryption.
    #[error("its token_uri is not https")]
    PlainTokenUri,
}

#[derive(Deserialize)]
struct Key {
    #[serde(rename = "type")]
    kind: String,
    client_email: String,
    #[serde(default)]
    private_key_id: String,
    private_key: String,
    #[serde(default)]
    token_uri: Option<String>,
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
    /// Reads a key.
    ///
    /// # Errors
    /// When it is no key of a service account, or wants its token from somewhere unsafe.
    pub(crate) fn parse(json: &[u8]) -> Result<Self, ServiceAccountError> {
        let key: Key = serde_json::from_slice(json).map_err(|_| ServiceAccountError::Form)?;
        if key.kind != KIND {
            return Err(ServiceAccountError::Kind);
        }
        let token_uri = Url::parse(key.token_uri.as_deref().unwrap_or(TOKENS));
        let token_uri = token_uri.map_err(|_| ServiceAccountError::TokenUri)?;
        if !rest::may_be_told_secrets(&token_uri) {
            return Err(ServiceAccountError::PlainTokenUri);
        }
        Ok(Self {
            email: key.client_email,
            key_id: key.private_key_id,
            key: key.private_key.into(),
            token_uri,
        })
    }

    /// Returns the cache key of its tokens, made of everything that they depend on. The private key is part of it, so
    /// that the name alone gives nobody a token.
    pub(crate) fn key(&self) -> String {
        let parts = [&self.email, &self.key_id, self.key.expose_secret(), self.token_uri.as_str()];
        fingerprint(parts.map(str::as_bytes))
    }

    /// A token of the account for `scope`.
    pub(crate) async fn login(&self, client: &Client, scope: &str) -> Result<Login, ProviderError> {
        let unusable = |error: jsonwebtoken::errors::Error| ProviderError::Unusable {
            what: "private key of the service account",
            reason: words(&error),
        };
        let mut header = Header::new(Algorithm::RS256);
        header.kid = Some(self.key_id.clone()).filter(|id| !id.is_empty());
        let iat = rest::seconds_now();
        let (aud, exp) = (self.token_uri.as_str(), iat + STATEMENT_LIFE);
        let claims = Claims { iss: &self.email, scope, aud, iat, exp };
        let key = EncodingKey::from_rsa_pem(self.key.expose_secret().as_bytes()).map_err(unusable)?;
        let assertion = jsonwebtoken::encode(&header, &claims, &key).map_err(unusable)?;
        let form = [("grant_type", GRANT), ("assertion", assertion.as_str())];
        let request = client.post(self.token_uri.clone()).form(&form);
        rest::json_hiding::<Answer>("Google", request, &[assertion.clone().into()]).await.map(Answer::login)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("{", "it is not a JSON service account key")]
    #[case(
        r#"{"type":"external_account","client_email":"e","private_key":"k"}"#,
        "its type is not 'service_account'"
    )]
    #[case(
        r#"{"type":"service_account","client_email":"e","private_key":"k","token_uri":"x"}"#,
        "its token_uri is no URL"
    )]
    #[case(
        r#"{"type":"service_account","client_email":"e","private_key":"k","token_uri":"http://evil.example.com/"}"#,
        "its token_uri is not https"
    )]
    fn refused(#[case] json: &str, #[case] message: &str) {
        assert_eq!(ServiceAccount::parse(json.as_bytes()).unwrap_err().to_string(), message);
    }

    #[test]
    fn nothing_secret_is_shown() {
        let json = br#"{"type":"service_account","client_email":"e","private_key":"hunter2"}"#;
        let account = ServiceAccount::parse(json).unwrap();
        assert!(!format!("{account:?}").contains("hunter2"));
    }
}
