//! Roles that the holder of keys may assume (KS-SOPS-5).

use std::time::SystemTime;

use reqwest::Client;
use secrecy::SecretString;

use super::{api_words, sdk_config};
use crate::credentials::{Credentials, Login};
use crate::error::ProviderError;
use crate::rest;

/// Name of the session in AWS's records.
const SESSION: &str = "sops@weir";
/// Life of a role's keys that do not say, in seconds: the default of AWS.
const DEFAULT_LIFE: u64 = 60 * 60;

/// Returns the keys of `role`, which the holder of `keys` may assume.
pub(crate) async fn assume(
    client: &Client,
    keys: &Credentials,
    region: &str,
    role: &str,
) -> Result<Login, ProviderError> {
    let sts = aws_sdk_sts::Client::new(&sdk_config(client, region, keys).await);
    let answer = sts.assume_role().role_arn(role).role_session_name(SESSION).send().await;
    let answer = answer.map_err(|error| ProviderError::Resource {
        what: "failed to assume role",
        resource: role.to_owned(),
        reason: api_words(&error),
    })?;
    let made = answer.credentials().ok_or(ProviderError::Answer { what: "STS", missing: "key" })?;
    let credentials = Credentials::Aws {
        access_key_id: made.access_key_id().to_owned(),
        secret_access_key: made.secret_access_key().to_owned().into(),
        session_token: Some(SecretString::from(made.session_token().to_owned())),
    };
    let expires = SystemTime::try_from(*made.expiration()).unwrap_or_else(|_| rest::in_seconds(DEFAULT_LIFE));
    Ok(Login { credentials, expires })
}
