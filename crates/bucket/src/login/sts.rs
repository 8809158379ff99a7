//! The security token service of MinIO, for users of a directory (DEP-CLD-2). Amazon's is `weir-auth`'s to ask.

use super::{MAX_SESSION_BYTES, Session};
use crate::error::Error;
use crate::s3::AccessKeys;
use crate::send::Sender;
use crate::xml;
use reqwest::Client;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use std::time::{Duration, SystemTime};
use url::Url;

/// Version of the interface, which is Amazon's.
const VERSION: &str = "2011-06-15";
/// Life of keys whose issuer does not say: the shortest that Amazon gives.
const DEFAULT_LIFE: Duration = Duration::from_secs(15 * 60);

#[derive(Deserialize)]
struct Answer {
    #[serde(rename = "AssumeRoleWithLDAPIdentityResult")]
    result: Assumed,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Assumed {
    credentials: Credentials,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Credentials {
    access_key_id: String,
    secret_access_key: String,
    session_token: String,
    #[serde(default)]
    expiration: String,
}

/// Keys for a user of the directory that a MinIO server asks (SRC-BKT-10).
///
/// # Errors
/// When the server cannot be asked or says no.
pub async fn ldap(
    client: &Client,
    endpoint: &Url,
    user: &str,
    password: &SecretString,
) -> Result<Session<AccessKeys>, Error> {
    let form = [
        ("Action", "AssumeRoleWithLDAPIdentity"),
        ("Version", VERSION),
        ("LDAPUsername", user),
        ("LDAPPassword", password.expose_secret()),
    ];
    let make = || {
        let request = client.post(endpoint.clone()).form(&form).build();
        request.map_err(|error| Error::malformed("STS request", error.without_url()))
    };
    let sender = Sender::new(client.clone(), vec![password.clone()]);
    let body = sender.body("STS answer", MAX_SESSION_BYTES, make).await?;
    let answer: Answer = xml::parse("STS answer", &body)
        .map_err(|_| Error::malformed("STS answer", "it holds no credentials"))?;
    let Credentials { access_key_id, secret_access_key, session_token, expiration } =
        answer.result.credentials;
    let expires = expiration.parse::<jiff::Timestamp>().map(SystemTime::from);
    Ok(Session {
        credential: AccessKeys {
            id: access_key_id,
            secret: secret_access_key.into(),
            session_token: (!session_token.is_empty()).then(|| session_token.into()),
        },
        expires: expires.unwrap_or_else(|_| SystemTime::now() + DEFAULT_LIFE),
    })
}
