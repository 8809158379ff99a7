//! Identities that were given to the machine, by their names in Secrets (SRC-BKT-11). `azure_identity` requests them
//! too, but at one address only: a variable names the address of AAD Pod Identity.

use std::time::Duration;

use reqwest::{Client, StatusCode};
use serde::Deserialize;

use crate::credentials::Login;
use crate::error::ProviderError;
use crate::rest;

/// Address at which an Azure machine proves its identity, and the variable that names another one.
const MACHINE: &str = "http://169.254.169.254";
const MACHINE_VARIABLE: &str = "AZURE_POD_IDENTITY_AUTHORITY_HOST";
const VERSION: &str = "2018-02-01";
const PATH: &str = "metadata/identity/oauth2/token";
/// Each of them names another place where a machine of Azure's proves its identity.
const PLACES: [&str; 2] = ["IDENTITY_ENDPOINT", "MSI_ENDPOINT"];
/// Answer of a machine of Azure's to a request without its header.
const NO_HEADER: StatusCode = StatusCode::BAD_REQUEST;
/// Time for the machine to answer anything: it is asked on any laptop.
const PROBE: Duration = Duration::from_secs(1);

#[derive(Deserialize)]
struct Answer {
    access_token: String,
    /// A number in a text.
    expires_in: String,
}

/// A token for `scope` of the identity with the client id `client`.
pub(crate) async fn login(http: &Client, client: &str, scope: &str) -> Result<Login, ProviderError> {
    let host = std::env::var(MACHINE_VARIABLE).unwrap_or_else(|_| MACHINE.to_owned());
    let url = format!("{}/{PATH}", host.trim_end_matches('/'));
    // A scope is the name of a resource with what is wanted of it.
    let resource = scope.strip_suffix(".default").unwrap_or(scope);
    let query = [("api-version", VERSION), ("resource", resource), ("client_id", client)];
    let request = http.get(url).header("metadata", "true").query(&query);
    let answer: Answer = rest::json("managed identity endpoint", request).await?;
    let life = answer.expires_in.parse().unwrap_or_default();
    Ok(Login::bearer(answer.access_token.into(), rest::in_seconds(life)))
}

/// Returns true on a machine of Azure's, or where an environment says so. A person's own machine has nobody at the address, so that
/// connections there end by time only; on machines of other clouds somebody else answers.
pub(super) async fn is_there() -> bool {
    if PLACES.iter().any(|name| std::env::var_os(name).is_some()) {
        return true;
    }
    let Ok(client) = rest::machine_client() else { return false };
    let answer = client.get(format!("{MACHINE}/{PATH}")).timeout(PROBE).send().await;
    answer.is_ok_and(|answer| answer.status() == NO_HEADER)
}
