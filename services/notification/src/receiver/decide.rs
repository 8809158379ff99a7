//! Decides if a Receiver can serve (NTF-89 … NTF-91).

use weir_api::notification::ReceiverSpec;
use weir_api::{Receiver, reason};
use weir_runtime::{Failure, condition};

use super::TYPE_GENERIC_OIDC;
use super::oidc::rules::check_providers;
use super::path::webhook_path;

const TOKEN_NOT_FOUND: &str = "TokenNotFound";
const VALIDATION_FAILED: &str = "ValidationFailed";
const TERMINAL: &str = "Reconciliation failed terminally due to configuration error: ";

/// The facts about a Receiver that are not in it.
pub(super) struct Observed {
    /// The outcome of the compilation; an error when it was given up, which may go better next time.
    pub(super) expressions: Result<Expressions, String>,
    /// The token, or the reason why there is none.
    pub(super) token: Result<Vec<u8>, String>,
}

/// The faults of a Receiver's expressions.
pub(super) struct Expressions {
    /// Those of the filters.
    pub(super) filters: Result<(), String>,
    /// Those of the identity providers.
    pub(super) providers: Result<(), String>,
}

/// The state that a Receiver gets.
pub(super) enum Verdict {
    /// It serves this path.
    Ready(String),
    /// It serves as before: nothing about it has changed, and this time its expressions were not looked at, for this reason.
    AsBefore(String),
    /// It does not serve.
    Failed(Failure),
}

/// Decides; the faults of the Receiver itself come first, which nobody but its author can mend.
pub(super) fn decide(receiver: &Receiver, observed: Observed) -> Verdict {
    let Observed { expressions, token } = observed;
    let expressions = match expressions {
        Ok(expressions) => expressions,
        // Expressions of others may have taken the time.
        Err(text) if is_served(receiver) => return Verdict::AsBefore(text),
        Err(text) => return Verdict::Failed(Failure::retried(reason::FAILED, text)),
    };
    if let Err((reason, text)) = check(&receiver.spec, expressions) {
        return Verdict::Failed(Failure::stalled(reason, format!("{TERMINAL}{text}")));
    }
    let meta = &receiver.metadata;
    let (name, namespace) = (meta.name.as_deref(), meta.namespace.as_deref());
    match token {
        Ok(token) => {
            Verdict::Ready(webhook_path(&token, name.unwrap_or_default(), namespace.unwrap_or_default()))
        }
        Err(text) => Verdict::Failed(Failure::retried(TOKEN_NOT_FOUND, text).reported_as(reason::FAILED)),
    }
}

/// Returns true for a Receiver that is Ready as it is now.
fn is_served(receiver: &Receiver) -> bool {
    let status = receiver.status.as_ref();
    status.is_some_and(|status| {
        condition::is_ready(&status.conditions)
            && Some(status.observed_generation) == receiver.metadata.generation
    })
}

fn check(spec: &ReceiverSpec, expressions: Expressions) -> Result<(), (&'static str, String)> {
    let bad_expression = |text| (reason::INVALID_CEL_EXPRESSION, text);
    expressions.filters.map_err(bad_expression)?;
    let bad_field = |text| (VALIDATION_FAILED, text);
    check_fields(spec).map_err(|text| bad_field(text.to_owned()))?;
    check_providers(&spec.oidc_providers).map_err(bad_field)?;
    expressions.providers.map_err(bad_expression)
}

/// The rules between fields, which the API server checks too, for objects from before it did (NTF-90).
fn check_fields(spec: &ReceiverSpec) -> Result<(), &'static str> {
    let is_oidc = spec.type_ == TYPE_GENERIC_OIDC;
    let rules = [
        (
            is_oidc && spec.oidc_providers.is_empty(),
            "generic-oidc receiver requires at least one oidcProvider",
        ),
        (
            !is_oidc && !spec.oidc_providers.is_empty(),
            "oidcProviders can only be set when type is generic-oidc",
        ),
        (is_oidc && spec.secret_ref.is_some(), "secretRef cannot be set when type is generic-oidc"),
        (!is_oidc && spec.secret_ref.is_none(), "secretRef is required when type is not generic-oidc"),
    ];
    rules.iter().find(|(is_broken, _)| *is_broken).map_or(Ok(()), |(_, text)| Err(*text))
}

#[cfg(test)]
mod tests;
