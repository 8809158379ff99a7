//! Signatures that come without a transparency log's word are looked up there (SRC-OCI-24).

use std::time::Duration;

use bytes::Bytes;
use weir_http::{Clients, Profile};
use weir_oci::Registry;

/// Path at which a log answers for the entry of a signature.
const PATH: &str = "api/v1/log/entries/retrieve";
/// Bytes of an answer: an entry has a few KiB, its proof of inclusion some more.
const MAX_ANSWER: usize = 1 << 20;
/// Time for one question; the object's own time may be shorter.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Returns the answer of the log at `url`. The object's authorities are trusted on the way there, its proxy is not
/// used (SRC-PRX-2).
///
/// # Errors
/// When the log cannot be asked.
pub(super) async fn ask(
    query: Vec<u8>,
    url: &str,
    clients: &Clients,
    registry: &Registry,
) -> Result<Bytes, String> {
    let failed = |why: String| format!("transparency log '{url}' cannot be asked: {why}");
    let profile = Profile { ca: registry.http().ca.clone(), ..Profile::default() };
    let client = clients.get(&profile).map_err(|error| failed(error.to_string()))?;
    let request = client.post(format!("{}/{PATH}", url.trim_end_matches('/'))).body(query);
    let request = request.header("content-type", "application/json").header("accept", "application/json");
    let request = request.timeout(TIMEOUT.min(registry.time_left()));
    let response = request.send().await.map_err(|error| match error.url() {
        Some(url) => failed(weir_http::reason(&error, url)),
        None => failed(error.to_string()),
    })?;
    if !response.status().is_success() {
        return Err(failed(format!("unexpected status code {}", response.status())));
    }
    weir_http::read_capped(response, MAX_ANSWER).await.map_err(|error| failed(error.to_string()))
}
