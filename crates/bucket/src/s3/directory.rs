//! Keys that a MinIO server gives the users of its directory (DEP-CLD-2). Amazon's token service is `weir-auth`'s to ask.

use reqwest::Client;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use crate::error::Error;
use crate::s3::AccessKeys;
use crate::send::Sender;
use crate::xml;

/// Version of the interface, which is Amazon's.
const VERSION: &str = "2011-06-15";
/// Bytes of an answer with keys.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

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
}

/// Trades user and password for keys (SRC-BKT-10). Nothing is kept: each run requests them anew.
pub(crate) async fn keys(
    client: Client,
    endpoint: &Url,
    user: &str,
    password: &SecretString,
) -> Result<AccessKeys, Error> {
    let form = [
        ("Action", "AssumeRoleWithLDAPIdentity"),
        ("LDAPPassword", password.expose_secret()),
        ("LDAPUsername", user),
        ("Version", VERSION),
    ];
    let make = || {
        let request = client.post(endpoint.clone()).form(&form).build();
        request.map_err(|error| Error::malformed("STS request", error.without_url()))
    };
    let sender = Sender::new(client.clone(), vec![password.clone()]);
    let body = sender.body("STS answer", MAX_ANSWER_BYTES, make).await?;
    let answer: Answer = xml::parse("STS answer", &body)
        .map_err(|_| Error::malformed("STS answer", "it holds no credentials"))?;
    let Credentials { access_key_id, secret_access_key, session_token } = answer.result.credentials;
    Ok(AccessKeys {
        id: access_key_id,
        secret: secret_access_key.into(),
        session_token: (!session_token.is_empty()).then(|| session_token.into()),
    })
}
