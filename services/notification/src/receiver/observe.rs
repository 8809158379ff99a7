//! Finds out about a Receiver: if its expressions compile, and which token it has.

use weir_access::Secrets;
use weir_api::Receiver;
use weir_api::notification::ReceiverSpec;

use super::decide::{Expressions, Observed};
use super::filter::Filters;
use super::oidc::rules::compile_providers;

/// Compiles the expressions and reads the Secret.
pub(super) async fn observe(secrets: &Secrets, receiver: &Receiver) -> Observed {
    Observed { expressions: expressions(&receiver.spec).await, token: token(secrets, receiver).await }
}

/// Compiles the expressions. Those of all Receivers share a few places, which one without any does not wait for.
async fn expressions(spec: &ReceiverSpec) -> Result<Expressions, String> {
    if !Filters::has_any(spec) && spec.oidc_providers.is_empty() {
        return Ok(Expressions { filters: Ok(()), providers: Ok(()) });
    }
    let spec = spec.clone();
    let compiled = weir_evaluation::evaluated(move |_| Expressions {
        filters: Filters::compile(&spec).map(drop),
        providers: compile_providers(&spec.oidc_providers),
    });
    compiled.await
}

/// Reads the token; the type that has no Secret has an empty one.
async fn token(secrets: &Secrets, receiver: &Receiver) -> Result<Vec<u8>, String> {
    let Some(reference) = &receiver.spec.secret_ref else { return Ok(Vec::new()) };
    let namespace = receiver.metadata.namespace.as_deref().unwrap_or_default();
    let secret = format!("'{namespace}/{}'", reference.name);
    let found = secrets.get(namespace, &reference.name).await;
    let found = found.map_err(|error| format!("unable to read token from secret {secret} error: {error}"))?;
    // An empty token would switch signatures off (NTF-91).
    let token = found.data.get("token").filter(|token| !token.is_empty());
    token.cloned().ok_or_else(|| format!("invalid {secret} secret data: required fields 'token'"))
}
