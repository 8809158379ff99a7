//! The endpoint that the outside world calls: finds the Receiver of a path, checks the call, marks objects (spec 6.4).

use std::sync::Arc;

use axum::body::Body;
use futures::{StreamExt, stream};
use http::{HeaderValue, Response, StatusCode, Uri, header::LOCATION};
use weir_access::Secrets;
use weir_api::{FluxObject, Receiver, condition_type};
use weir_http::SecretData;
use weir_runtime::{Cache, ObjectKey, condition};

use crate::http_server::{Call, answer};
use crate::receiver::filter::{Filters, Known};
use crate::receiver::index::PathIndex;
use crate::receiver::oidc::{self, issuer::Issuers};
use crate::receiver::path::{PREFIX, webhook_path};
use crate::receiver::target::Marker;
use crate::receiver::{self, Rules, TYPE_GCR, TYPE_GENERIC_OIDC, gcr};
use crate::tasks::Tasks;

/// Secrets that are read at once where several Receivers say the same path.
const LOOKS: usize = 8;

/// Everything that the endpoint needs.
pub struct Webhooks {
    /// Reads the Secrets of Receivers.
    pub secrets: Secrets,
    /// All Receivers.
    pub receivers: Cache<Receiver>,
    /// Their paths.
    pub paths: PathIndex,
    /// Marks objects.
    pub marker: Marker,
    /// Keys of identity providers.
    pub issuers: Issuers,
    /// Marking that goes on when its caller hangs up.
    pub tasks: Tasks,
    /// The time.
    pub clock: fn() -> jiff::Timestamp,
}

/// Answers one request; the bodies of answers are empty (NTF-92).
pub async fn handle(webhooks: Arc<Webhooks>, call: Call) -> Response<Body> {
    if let Some(clean) = clean_path(&call.uri) {
        let mut response = answer(StatusCode::TEMPORARY_REDIRECT, "");
        if let Ok(location) = HeaderValue::from_str(&clean) {
            response.headers_mut().insert(LOCATION, location);
        }
        return response;
    }
    if !call.uri.path().starts_with(PREFIX) {
        return answer(StatusCode::NOT_FOUND, "404 page not found\n");
    }
    let address = call.uri.path_and_query().map_or_else(String::new, ToString::to_string);
    let Some((receiver, secret)) = webhooks.owner(&address).await else {
        // The body of a call to an unknown path is never held (NTF-94).
        let status = call.discard().await.err().map_or(StatusCode::NOT_FOUND, |error| error.status());
        return answer(status, "");
    };
    let headers = call.headers.clone();
    let body = match call.read().await {
        Ok(body) => body,
        Err(error) => return answer(error.status(), ""),
    };
    let key = ObjectKey::of(&*receiver);
    match webhooks.serve(receiver, secret, receiver::Call { headers: &headers, body: &body }).await {
        Ok(()) => answer(StatusCode::OK, ""),
        Err((status, error)) => {
            tracing::error!(receiver = %key, status = status.as_u16(), error, "unable to handle the webhook request");
            answer(status, "")
        }
    }
}

impl Webhooks {
    /// Returns the Receiver of a path, with its Secret. Several statuses may name the path, but it is made of one token.
    /// While it is not known whose, the first Receiver whose Secret cannot be read is returned: it is served nothing.
    async fn owner(&self, path: &str) -> Option<(Arc<Receiver>, Result<SecretData, String>)> {
        let claimants = self.paths.claimants(path).into_iter().filter_map(|key| self.receivers.get(&key));
        let looks = claimants.map(|receiver| async move {
            let secret = self.secret(&receiver).await;
            (receiver, secret)
        });
        let mut looks = std::pin::pin!(stream::iter(looks).buffered(LOOKS));
        let mut unknown = None;
        while let Some((receiver, secret)) = looks.next().await {
            match &secret {
                Ok(data) if is_path_of(path, &receiver, data) => return Some((receiver, secret)),
                Ok(_) => {
                    tracing::info!(receiver = %ObjectKey::of(&*receiver), "status.webhookPath is not the path of this Receiver");
                }
                Err(_) => unknown = unknown.or(Some((receiver, secret))),
            }
        }
        unknown
    }

    async fn serve(
        &self,
        receiver: Arc<Receiver>,
        secret: Result<SecretData, String>,
        call: receiver::Call<'_>,
    ) -> Result<(), (StatusCode, String)> {
        if !is_serving(&receiver) {
            return Err((
                StatusCode::SERVICE_UNAVAILABLE,
                "the receiver is suspended or not ready".to_owned(),
            ));
        }
        let refused = |error| (StatusCode::BAD_REQUEST, error);
        let secret = secret.map_err(refused)?;
        let known = self.authenticate(&receiver, &secret, call).await.map_err(refused)?;
        let failed = |error: String| (StatusCode::INTERNAL_SERVER_ERROR, error);
        let filters = Filters::of_call(&receiver.spec, call, known).await.map_err(failed)?;
        // GitHub hangs up after 10 s, and what it asked for is done all the same.
        let marker = self.marker.clone();
        let marking = self.tasks.finish(async move { marker.mark_all(&receiver, &filters).await });
        marking.await.unwrap_or_else(|| Err("the service stops".to_owned())).map_err(failed)
    }

    /// Checks that the call is genuine. Returns what became known on the way.
    async fn authenticate(
        &self,
        receiver: &Receiver,
        secret: &SecretData,
        call: receiver::Call<'_>,
    ) -> Result<Known, String> {
        let spec = &receiver.spec;
        let now = (self.clock)();
        if spec.type_ == TYPE_GENERIC_OIDC {
            let claims = oidc::verify(call, &spec.oidc_providers, &self.issuers, now).await;
            return Ok(Known { claims: Some(claims.map_err(|refusal| refusal.to_string())?), request: None });
        }
        if spec.type_ == TYPE_GCR {
            let request = gcr::verify(call, secret, &self.issuers, now).await;
            return Ok(Known {
                request: Some(request.map_err(|refusal| refusal.to_string())?),
                claims: None,
            });
        }
        let token = secret.get("token").map(Vec::as_slice).unwrap_or_default();
        let rules = Rules { token, events: &spec.events };
        receiver::verify(&spec.type_, call, rules).map_err(|refusal| refusal.to_string())?;
        Ok(Known::default())
    }

    /// The Secret's data; it has a token that is not empty (NTF-124), but for the type that has no Secret.
    async fn secret(&self, receiver: &Receiver) -> Result<SecretData, String> {
        if receiver.spec.type_ == TYPE_GENERIC_OIDC {
            return Ok(SecretData::new());
        }
        let namespace = receiver.metadata.namespace.clone().unwrap_or_default();
        let Some(reference) = &receiver.spec.secret_ref else {
            return Err("the receiver has no secretRef".to_owned());
        };
        let secret = self.secrets.get(&namespace, &reference.name).await;
        let data = secret.map_err(|error| format!("unable to read secret, error: {error}"))?.data;
        if data.get("token").is_none_or(Vec::is_empty) {
            let name = &reference.name;
            return Err(format!("invalid \"{namespace}/{name}\" secret data: required field 'token'"));
        }
        Ok(data)
    }
}

/// Returns true for the path that the Receiver's reconcile would make.
fn is_path_of(path: &str, receiver: &Receiver, secret: &SecretData) -> bool {
    let token = secret.get("token").map(Vec::as_slice).unwrap_or_default();
    let ObjectKey { namespace, name } = ObjectKey::of(receiver);
    webhook_path(token, &name, &namespace) == path
}

/// Suspended, failing and unfinished Receivers do not serve.
fn is_serving(receiver: &Receiver) -> bool {
    let conditions = receiver.conditions();
    !receiver.spec.suspend
        && condition::is_ready(conditions)
        && !condition::is_true(conditions, condition_type::RECONCILING)
        && !condition::is_true(conditions, condition_type::STALLED)
}

/// Returns the path that one with doubled slashes or dot segments stands for, as Go's router answers it (NTF-93).
fn clean_path(uri: &Uri) -> Option<String> {
    let path = uri.path();
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let mut clean = format!("/{}", parts.join("/"));
    // The router knows the prefix with its slash only.
    let is_bare_prefix = clean == PREFIX.trim_end_matches('/');
    if (path.ends_with('/') || is_bare_prefix) && !clean.ends_with('/') {
        clean.push('/');
    }
    if clean == path {
        return None;
    }
    Some(uri.query().map_or(clean.clone(), |query| format!("{clean}?{query}")))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("/hook/abc", None)]
    #[case("/hook/abc/", None)]
    #[case("/", None)]
    #[case("/hook", Some("/hook/"))]
    #[case("/hook?a=b", Some("/hook/?a=b"))]
    #[case("/hook/", None)]
    #[case("//hook/abc", Some("/hook/abc"))]
    #[case("/x/../hook//abc?a=b", Some("/hook/abc?a=b"))]
    #[case("/hook/./abc/", Some("/hook/abc/"))]
    fn unclean_paths_are_redirected(#[case] uri: &str, #[case] expected: Option<&str>) {
        assert_eq!(clean_path(&uri.parse().unwrap()).as_deref(), expected);
    }
}
