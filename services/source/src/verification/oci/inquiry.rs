//! Servers that certificates name, asked whether these were revoked (SRC-OCI-26). As with Flux the environment's proxies
//! count on the way there, and nothing of the object: neither its proxy nor its credentials.

use weir_http::{Clients, Profile};
use weir_oci::Registry;
use weir_verify::notation::Question;

/// Returns the answer of the server that a question names, at most `room` bytes of it.
///
/// # Errors
/// When it does not, with the reason.
pub(super) async fn ask(
    question: &Question,
    room: usize,
    clients: &Clients,
    registry: &Registry,
) -> Result<Vec<u8>, String> {
    let client = clients.get(&Profile::default()).map_err(|error| error.to_string())?;
    let request = client.get(&question.url).timeout(question.timeout.min(registry.time_left()));
    let response = request.send().await.map_err(|error| match error.url() {
        Some(url) => weir_http::reason(&error, url),
        None => error.to_string(),
    })?;
    if response.status().as_u16() != 200 {
        return Err(format!("unexpected status code {}", response.status()));
    }
    let body = weir_http::read_capped(response, question.max_answer.min(room)).await;
    body.map(Vec::from).map_err(|error| error.to_string())
}
