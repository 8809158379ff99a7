//! Logins to a Git server, by `spec.provider` of a `GitRepository` and its Secret (SRC-CLD-5, IU-26, IU-27).

use std::sync::Arc;

use url::Url;
use weir_http::SecretData;

use crate::credentials::Login;
use crate::error::LoginError;
use crate::github::{App, AppError};
use crate::identity::Caller;
use crate::logins::Logins;
use crate::provider::Provider;

const GITHUB: &str = "github";

/// The provider of a Git server's credentials.
#[derive(Debug, Clone)]
pub enum GitLogin {
    /// The Secret holds them, or there are none.
    Secret,
    /// GitHub, for the app in the Secret.
    App(App),
    /// A cloud, for an identity.
    Cloud(Provider),
}

/// Errors for which provider and Secret do not go together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitLoginError {
    /// GitHub without an app.
    #[error("secretRef with github app data must be specified when provider is set to github")]
    NoApp,
    /// An app for somebody else.
    #[error("secretRef '{place}' has github app data but provider is not set to github")]
    UnexpectedApp {
        /// The Secret.
        place: String,
    },
    /// An app that is not whole.
    #[error(transparent)]
    App(#[from] AppError),
}

impl GitLogin {
    /// Decides by `provider` and the Secret at `place`, its `namespace/name`.
    ///
    /// # Errors
    /// When they do not go together.
    pub fn of(
        provider: Option<&str>,
        place: &str,
        secret: Option<&SecretData>,
    ) -> Result<Self, GitLoginError> {
        let app = secret.filter(|data| App::is_in(data));
        match (provider, app) {
            (Some(GITHUB), Some(data)) => Ok(Self::App(App::from_secret(place, data)?)),
            (Some(GITHUB), None) => Err(GitLoginError::NoApp),
            (_, Some(_)) => Err(GitLoginError::UnexpectedApp { place: place.to_owned() }),
            (provider, None) => Ok(Provider::parse(provider).map_or(Self::Secret, GitLogin::Cloud)),
        }
    }
}

impl Logins {
    /// The credentials of the Git server at `url`; nothing when they are the Secret's own.
    ///
    /// # Errors
    /// When the object may not have an identity, or the provider refuses.
    pub async fn git(
        &self,
        login: &GitLogin,
        caller: &Caller<'_>,
        url: &Url,
    ) -> Result<Option<Arc<Login>>, LoginError> {
        match login {
            GitLogin::Secret => Ok(None),
            GitLogin::App(app) => self.github(caller, app).await.map(Some),
            GitLogin::Cloud(provider) => self.cloud_git(*provider, caller, url).await.map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(None, None, "Ok(Secret)")]
    #[case(Some("generic"), Some("username"), "Ok(Secret)")]
    #[case(Some("azure"), None, "Ok(Cloud(Azure))")]
    #[case(Some("aws"), Some("username"), "Ok(Cloud(Aws))")]
    #[case(Some("github"), None, "Err(NoApp)")]
    #[case(Some("github"), Some("username"), "Err(NoApp)")]
    #[case(
        Some("github"),
        Some("githubAppID"),
        "Err(App(NoKey { place: \"ns/s\", key: \"githubAppPrivateKey\" }))"
    )]
    #[case(Some("azure"), Some("githubAppID"), "Err(UnexpectedApp { place: \"ns/s\" })")]
    #[case(None, Some("githubAppID"), "Err(UnexpectedApp { place: \"ns/s\" })")]
    fn choices(#[case] provider: Option<&str>, #[case] key: Option<&str>, #[case] expected: &str) {
        let data = key.map(|key| SecretData::from([(key.to_owned(), b"1".to_vec())]));
        assert_eq!(format!("{:?}", GitLogin::of(provider, "ns/s", data.as_ref())), expected);
    }
}
