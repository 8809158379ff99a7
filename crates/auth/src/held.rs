//! Credentials that Secrets hold, and what they are traded for (SRC-BKT-11, KS-DEC-2). Tokens are kept under a key that names
//! everything in the Secret that they depend on: nobody gets them without that Secret (SRC-CLD-7).

use std::sync::Arc;

use reqwest::Client;

use crate::azure::{Application, machine};
use crate::cache::fingerprint;
use crate::credentials::Login;
use crate::error::{LoginError, ProviderError};
use crate::gcp::{ServiceAccount, User};
use crate::identity::Caller;
use crate::logins::Logins;
use crate::rest;

/// Something in a Secret that is traded for a token.
#[derive(Debug, Clone)]
pub(crate) enum Held {
    /// A service account of Google's.
    Google(ServiceAccount),
    /// A person's account at Google.
    User(User),
    /// An application of Microsoft's identity platform.
    Application(Application),
    /// An identity of this machine, by its client id.
    Machine(String),
}

impl Held {
    pub(crate) fn key(&self, scope: &str) -> String {
        match self {
            Self::Google(account) => format!("gcp/{scope}/{}", account.key()),
            Self::User(user) => format!("gcp-user/{scope}/{}", user.key()),
            Self::Application(application) => format!("azure/{scope}/{}", application.key()),
            Self::Machine(client) => format!("machine/{scope}/{}", fingerprint([client.as_bytes()])),
        }
    }

    async fn login(&self, client: &Client, scope: &str) -> Result<Login, ProviderError> {
        match self {
            Self::Google(account) => account.login(client, scope).await,
            Self::User(user) => user.login(client).await,
            Self::Application(application) => application.login(client, scope).await,
            Self::Machine(id) => machine::login(client, id, scope).await,
        }
    }
}

impl Logins {
    /// The token for `scope` that a provider gives for what a Secret holds.
    pub(crate) async fn held(
        &self,
        caller: &Caller<'_>,
        held: &Held,
        scope: &str,
    ) -> Result<Arc<Login>, LoginError> {
        let (client, way) = match held {
            Held::Machine(_) => (rest::machine_client()?, String::new()),
            _ => {
                let http = self.way(caller);
                (self.client(&http)?, hex::encode(http.key()))
            }
        };
        let key = format!("held/{}/{way}", held.key(scope));
        self.kept(caller, key, Box::pin(async move { held.login(&client, scope).await.map_err(Into::into) }))
            .await
    }
}
