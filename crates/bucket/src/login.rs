//! Trading what a Secret holds for a credential that expires. Nothing is kept here: callers keep sessions under keys of
//! their own, so that no tenant is given another's (SRC-CLD-7).

mod google;
mod microsoft;
mod sts;

pub use google::ServiceAccount;
pub use microsoft::{Application, Proof, managed_identity};
pub use reqwest::Client;
pub use sts::ldap;

use crate::error::Error;
use crate::send::Sender;
use secrecy::SecretString;
use serde::Deserialize;
use std::time::{Duration, SystemTime};
use url::Url;

/// Bytes of an answer with a credential.
const MAX_SESSION_BYTES: usize = 64 * 1024;
/// Life of a token whose issuer does not say.
const DEFAULT_LIFE: Duration = Duration::from_secs(5 * 60);
/// Life of a statement about ourselves that is traded for a token; as short as clocks allow.
const ASSERTION_LIFE: Duration = Duration::from_secs(10 * 60);

/// A credential that someone gave us for a while.
#[derive(Debug, Clone)]
pub struct Session<T> {
    /// The credential.
    pub credential: T,
    /// Until when it is good.
    pub expires: SystemTime,
}

/// The answer of an OAuth token server.
#[derive(Deserialize)]
struct TokenAnswer {
    access_token: String,
    /// A number, or one in a text (Azure's machines).
    #[serde(default)]
    expires_in: serde_json::Value,
}

/// Posts a form to a token server.
async fn token(
    client: &Client,
    url: &Url,
    form: &[(&str, &str)],
    secrets: Vec<SecretString>,
) -> Result<Session<SecretString>, Error> {
    let make = || {
        let request = client.post(url.clone()).form(form).build();
        request.map_err(|error| Error::malformed("token request", error.without_url()))
    };
    let body = Sender::new(client.clone(), secrets).body("token", MAX_SESSION_BYTES, make).await?;
    read_token(&body)
}

fn read_token(body: &[u8]) -> Result<Session<SecretString>, Error> {
    let answer: TokenAnswer =
        serde_json::from_slice(body).map_err(|_| Error::malformed("token", "it is not a token answer"))?;
    let seconds = match &answer.expires_in {
        serde_json::Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    };
    let life = seconds.map_or(DEFAULT_LIFE, Duration::from_secs);
    Ok(Session { credential: answer.access_token.into(), expires: SystemTime::now() + life })
}

/// Seconds since 1970, as statements carry them.
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
