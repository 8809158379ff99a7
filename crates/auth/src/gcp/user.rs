//! A person's account, as `gcloud auth application-default login` leaves it (KS-DEC-2).

use reqwest::Client;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::Answer;
use super::service_account::TOKENS;
use crate::cache::fingerprint;
use crate::credentials::{Login, secret};
use crate::error::ProviderError;
use crate::rest;

/// A person's permission for a program to act as them.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct User {
    client_id: String,
    #[serde(deserialize_with = "secret")]
    client_secret: SecretString,
    #[serde(deserialize_with = "secret")]
    refresh_token: SecretString,
}

impl User {
    /// Returns the key of its tokens, which names everything that they depend on.
    pub(crate) fn key(&self) -> String {
        let parts = [&self.client_id, self.client_secret.expose_secret(), self.refresh_token.expose_secret()];
        fingerprint(parts.map(str::as_bytes))
    }

    /// A token; its scopes are those that the person has agreed to.
    pub(crate) async fn login(&self, client: &Client) -> Result<Login, ProviderError> {
        let form = [
            ("grant_type", "refresh_token"),
            ("client_id", &self.client_id),
            ("client_secret", self.client_secret.expose_secret()),
            ("refresh_token", self.refresh_token.expose_secret()),
        ];
        let secrets = [self.client_secret.clone(), self.refresh_token.clone()];
        let request = client.post(TOKENS).form(&form);
        rest::json_hiding::<Answer>("Google", request, &secrets).await.map(Answer::login)
    }
}
