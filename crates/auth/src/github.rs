//! GitHub Apps: the app's key for a token of one installation (SRC-CLD-5, IU-26).

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use reqwest::{Client, Method, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use url::Url;
use weir_http::{SecretData, text};

use crate::cache::fingerprint;
use crate::credentials::Login;
use crate::error::{ProviderError, words};
use crate::rest;

/// The user that goes with installation tokens.
const USER: &str = "x-access-token";
const DEFAULT_BASE: &str = "https://api.github.com";
const ACCEPT: &str = "application/vnd.github+json";
const APP_ID: &str = "githubAppID";
const PRIVATE_KEY: &str = "githubAppPrivateKey";
const INSTALLATION_ID: &str = "githubAppInstallationID";
const INSTALLATION_OWNER: &str = "githubAppInstallationOwner";
const BASE_URL: &str = "githubAppBaseURL";
/// Seconds that the server's clock may be behind ours.
const CLOCK_SKEW: u64 = 30;
/// Life of the token by which the app identifies itself, in seconds; GitHub allows ten minutes.
const APP_TOKEN_LIFE: u64 = 120;
/// Digits of an id.
const MAX_ID: usize = 20;
/// Words of Flux's library about what is no key.
const NO_KEY: &str = "invalid key: Key must be a PEM encoded PKCS1 or PKCS8 key";
/// Characters of a name on GitHub.
const MAX_OWNER: usize = 100;

/// A GitHub App as its Secret describes it.
#[derive(Debug, Clone)]
pub struct App {
    id: String,
    key: SecretString,
    installation: Installation,
    base: Url,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Installation {
    Id(String),
    /// An organisation or a user that has the app.
    Owner(String),
}

/// Errors in a Secret that should describe an app.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AppError {
    /// A key that must be there.
    #[error("secret '{place}': key '{key}' not found")]
    NoKey {
        /// The Secret.
        place: String,
        /// The key.
        key: &'static str,
    },
    /// Two ways to say which installation, or none.
    #[error("secret '{place}' must contain exactly one of '{INSTALLATION_OWNER}' or '{INSTALLATION_ID}'")]
    Installation {
        /// The Secret.
        place: String,
    },
    /// A value that is not what it should be; it is not repeated.
    #[error("secret '{place}': key '{key}' is no {kind}")]
    Value {
        /// The Secret.
        place: String,
        /// The key.
        key: &'static str,
        /// Kind that it should be.
        kind: &'static str,
    },
}

impl App {
    /// Returns true when a Secret is meant to hold an app.
    #[must_use]
    pub fn is_in(data: &SecretData) -> bool {
        [APP_ID, PRIVATE_KEY, INSTALLATION_ID, INSTALLATION_OWNER].iter().any(|key| data.contains_key(*key))
    }

    /// Reads the Secret at `place`, its `namespace/name`.
    ///
    /// # Errors
    /// When a key is missing or not what it should be.
    pub fn from_secret(place: &str, data: &SecretData) -> Result<Self, AppError> {
        let required = |key| text(data, key).ok_or(AppError::NoKey { place: place.to_owned(), key });
        let value = |key, kind| AppError::Value { place: place.to_owned(), key, kind };
        let id = required(APP_ID)?;
        let key = required(PRIVATE_KEY)?.into();
        let installation = match (text(data, INSTALLATION_ID), text(data, INSTALLATION_OWNER)) {
            (Some(id), None) => Installation::Id(id.trim().to_owned()),
            (None, Some(owner)) => Installation::Owner(owner.trim().to_owned()),
            _ => return Err(AppError::Installation { place: place.to_owned() }),
        };
        let base = text(data, BASE_URL).unwrap_or_else(|| DEFAULT_BASE.to_owned());
        let base = Url::parse(base.trim()).ok().filter(|base| matches!(base.scheme(), "http" | "https"));
        let app = Self {
            id: id.trim().to_owned(),
            key,
            installation,
            base: base.ok_or_else(|| value(BASE_URL, "URL"))?,
        };
        if !is_id(&app.id) {
            return Err(value(APP_ID, "number"));
        }
        match &app.installation {
            Installation::Id(id) if !is_id(id) => Err(value(INSTALLATION_ID, "number")),
            Installation::Owner(owner) if !is_owner(owner) => Err(value(INSTALLATION_OWNER, "name")),
            _ => Ok(app),
        }
    }

    /// Returns the cache key of its tokens, made of everything that they depend on. The private key is part of it, so
    /// that the ids alone give nobody a token (IU-28).
    pub(crate) fn key(&self) -> String {
        let installation = format!("{:?}", self.installation);
        let parts = [self.id.as_str(), &installation, self.base.as_str(), self.key.expose_secret()];
        fingerprint(parts.map(str::as_bytes))
    }

    /// A token of the installation.
    pub(crate) async fn login(&self, client: &Client) -> Result<Login, ProviderError> {
        #[derive(Deserialize)]
        struct Made {
            token: String,
            expires_at: String,
        }
        let own = self.own_token()?;
        let installation = match &self.installation {
            Installation::Id(id) => id.clone(),
            Installation::Owner(owner) => self.installation_of(client, &own, owner).await?,
        };
        let path = format!("app/installations/{installation}/access_tokens");
        let made: Made = self.ask(client, Method::POST, &path, &own).await?;
        Ok(Login::basic(USER, made.token.into(), rest::moment(&made.expires_at)))
    }

    /// The installation of an organisation; of a user where there is no such organisation.
    async fn installation_of(
        &self,
        client: &Client,
        own: &SecretString,
        owner: &str,
    ) -> Result<String, ProviderError> {
        #[derive(Deserialize)]
        struct Found {
            id: u64,
        }
        let ask = async |kind: &str| {
            let path = format!("{kind}/{owner}/installation");
            self.ask::<Found>(client, Method::GET, &path, own).await
        };
        let found = match ask("orgs").await {
            Err(organization @ ProviderError::GitHub { status: StatusCode::NOT_FOUND, .. }) => {
                ask("users").await.map_err(|user| ProviderError::Library {
                    what: "failed to find organization installation",
                    reason: format!("{organization}\nfailed to find user installation: {user}"),
                })
            }
            decided => decided,
        };
        Ok(found?.id.to_string())
    }

    /// Asks the API, and tells a refusal as GitHub's library does.
    async fn ask<T: DeserializeOwned>(
        &self,
        client: &Client,
        method: Method,
        path: &str,
        own: &SecretString,
    ) -> Result<T, ProviderError> {
        let url = format!("{}/{path}", self.base.as_str().trim_end_matches('/'));
        let request =
            client.request(method.clone(), url).header("accept", ACCEPT).bearer_auth(own.expose_secret());
        rest::json("GitHub", request).await.map_err(|error| match error {
            ProviderError::Refused { url, status, words } => {
                let message = words.strip_prefix(": ").unwrap_or(&words).to_owned();
                ProviderError::GitHub { method, url, status, message }
            }
            other => other,
        })
    }

    /// Returns the token with which the app itself, not an installation of it, proves its identity to GitHub. It lives for
    /// two minutes (NTF-76).
    ///
    /// # Errors
    /// When the private key cannot be used.
    pub fn own_token(&self) -> Result<SecretString, ProviderError> {
        #[derive(Serialize)]
        struct Claims<'a> {
            iat: u64,
            exp: u64,
            iss: &'a str,
        }
        let unusable = |error: jsonwebtoken::errors::Error| ProviderError::Library {
            what: "could not parse private key",
            reason: match error.kind() {
                ErrorKind::InvalidKeyFormat => NO_KEY.to_owned(),
                _ => words(&error),
            },
        };
        let key = EncodingKey::from_rsa_pem(self.key.expose_secret().as_bytes()).map_err(unusable)?;
        let iat = rest::seconds_now().saturating_sub(CLOCK_SKEW);
        let claims = Claims { iat, exp: iat + APP_TOKEN_LIFE, iss: &self.id };
        let token = jsonwebtoken::encode(&Header::new(Algorithm::RS256), &claims, &key);
        token.map(Into::into).map_err(unusable)
    }
}

fn is_id(text: &str) -> bool {
    (1..=MAX_ID).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A name as GitHub has it, so that it cannot lead to another path of the API.
fn is_owner(text: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=MAX_OWNER).contains(&text.len()) && text.bytes().all(is_known)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn data(pairs: &[(&str, &str)]) -> SecretData {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect()
    }

    #[rstest]
    #[case(&[(PRIVATE_KEY, "k"), (INSTALLATION_ID, "2")], "secret 'ns/s': key 'githubAppID' not found")]
    #[case(&[(APP_ID, "1"), (INSTALLATION_ID, "2")], "secret 'ns/s': key 'githubAppPrivateKey' not found")]
    #[case(&[(APP_ID, "1"), (PRIVATE_KEY, "k")],
        "secret 'ns/s' must contain exactly one of 'githubAppInstallationOwner' or 'githubAppInstallationID'")]
    #[case(&[(APP_ID, "1"), (PRIVATE_KEY, "k"), (INSTALLATION_ID, "2"), (INSTALLATION_OWNER, "o")],
        "secret 'ns/s' must contain exactly one of 'githubAppInstallationOwner' or 'githubAppInstallationID'")]
    #[case(&[(APP_ID, "x"), (PRIVATE_KEY, "k"), (INSTALLATION_ID, "2")], "secret 'ns/s': key 'githubAppID' is no number")]
    #[case(&[(APP_ID, "1"), (PRIVATE_KEY, "k"), (INSTALLATION_ID, "../2")],
        "secret 'ns/s': key 'githubAppInstallationID' is no number")]
    #[case(&[(APP_ID, "1"), (PRIVATE_KEY, "k"), (INSTALLATION_OWNER, "a/../b")],
        "secret 'ns/s': key 'githubAppInstallationOwner' is no name")]
    #[case(&[(APP_ID, "1"), (PRIVATE_KEY, "k"), (INSTALLATION_ID, "2"), (BASE_URL, "ftp://x")],
        "secret 'ns/s': key 'githubAppBaseURL' is no URL")]
    fn refused(#[case] pairs: &[(&str, &str)], #[case] message: &str) {
        assert_eq!(App::from_secret("ns/s", &data(pairs)).unwrap_err().to_string(), message);
    }

    #[test]
    fn keys_name_everything() {
        let app = |key: &str, id: &str| {
            let pairs = [(APP_ID, "1\n"), (PRIVATE_KEY, key), (INSTALLATION_ID, id)];
            App::from_secret("ns/s", &data(&pairs)).unwrap().key()
        };
        assert_eq!(app("k", "2"), app("k", "2 "));
        assert_ne!(app("k", "2"), app("other", "2"));
        assert_ne!(app("k", "2"), app("k", "3"));
    }
}
