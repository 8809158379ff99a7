//! Keeps a Receiver's status: its path and whether it is ready (NTF-87 … NTF-91).

use std::time::Duration;

use weir_access::Secrets;
use weir_api::notification::ReceiverSpec;
use weir_api::{FluxObject, Receiver, reason};
use weir_runtime::condition::Writer;
use weir_runtime::{EventDraft, Failure, Next, Outcome, Reconciler, Run};

use super::TYPE_GENERIC_OIDC;
use super::filter::Filters;
use super::oidc::rules::{Fault, check_providers};
use super::path::webhook_path;

/// How often the Secret is looked at where the Receiver does not say it.
const DEFAULT_INTERVAL: weir_api::Duration = weir_api::Duration::from_secs(600);
const TOKEN_NOT_FOUND: &str = "TokenNotFound";
const VALIDATION_FAILED: &str = "ValidationFailed";
const TERMINAL: &str = "Reconciliation failed terminally due to configuration error: ";

/// Reconciles Receivers.
pub struct ReceiverReconciler {
    /// Reads the Secrets with the tokens.
    pub secrets: Secrets,
}

/// The state in which a Receiver was found.
#[derive(Debug, PartialEq, Eq)]
enum Observed {
    /// A filter, or an expression of an identity provider, is no valid CEL.
    BadExpression(String),
    /// Fields do not fit together.
    BadSpec(String),
    /// The token cannot be had.
    NoToken(String),
    /// The token; empty for the type that has none.
    Token(Vec<u8>),
}

impl Reconciler for ReceiverReconciler {
    type Object = Receiver;

    /// The generation counts as observed; all else stays as it was.
    async fn suspended(&self, receiver: &Receiver) -> Option<Receiver> {
        let mut shown = receiver.clone();
        shown.set_observed_generation(receiver.metadata.generation.unwrap_or_default());
        Some(shown)
    }

    async fn reconcile(&self, run: Run<Receiver>) -> Outcome<Receiver> {
        let observed = self.observe(&run.object).await;
        decide(&run.object, observed, run.now)
    }
}

impl ReceiverReconciler {
    async fn observe(&self, receiver: &Receiver) -> Observed {
        let spec = receiver.spec.clone();
        let compiled = tokio::task::spawn_blocking(move || Filters::compile(&spec).map(drop)).await;
        match compiled {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Observed::BadExpression(error),
            Err(_) => return Observed::BadExpression("the compilation was stopped".to_owned()),
        }
        if let Err(error) = check_fields(&receiver.spec) {
            return Observed::BadSpec(error);
        }
        let providers = receiver.spec.oidc_providers.clone();
        match tokio::task::spawn_blocking(move || check_providers(&providers)).await {
            Ok(Ok(())) => {}
            Ok(Err(Fault::Spec(error))) => return Observed::BadSpec(error),
            Ok(Err(Fault::Expression(error))) => return Observed::BadExpression(error),
            Err(_) => return Observed::BadExpression("the compilation was stopped".to_owned()),
        }
        let Some(reference) = &receiver.spec.secret_ref else { return Observed::Token(Vec::new()) };
        let namespace = receiver.metadata.namespace.clone().unwrap_or_default();
        let secret = format!("'{namespace}/{}'", reference.name);
        match self.secrets.get(&namespace, &reference.name).await {
            Err(error) => {
                Observed::NoToken(format!("unable to read token from secret {secret} error: {error}"))
            }
            // An empty token would switch signatures off (NTF-91).
            Ok(found) => match found.data.get("token").filter(|token| !token.is_empty()) {
                Some(token) => Observed::Token(token.clone()),
                None => Observed::NoToken(format!("invalid {secret} secret data: required fields 'token'")),
            },
        }
    }
}

/// The rules between fields, which the API server checks too, for objects from before it did (NTF-90).
fn check_fields(spec: &ReceiverSpec) -> Result<(), String> {
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
    rules.iter().find(|(is_broken, _)| *is_broken).map_or(Ok(()), |(_, text)| Err((*text).to_owned()))
}

/// Status, event and next look, from what was found out (NTF-89).
fn decide(receiver: &Receiver, observed: Observed, now: jiff::Timestamp) -> Outcome<Receiver> {
    let writer = Writer::of(receiver, now);
    let mut desired = receiver.clone();
    let status = desired.status.get_or_insert_default();
    let failure = match observed {
        Observed::Token(token) => {
            let name = receiver.metadata.name.as_deref().unwrap_or_default();
            let namespace = receiver.metadata.namespace.as_deref().unwrap_or_default();
            let path = webhook_path(&token, name, namespace);
            let text = format!("Receiver initialized for path: {path}");
            writer.ready(&mut status.conditions, reason::SUCCEEDED, &text);
            status.webhook_path = Some(path);
            status.observed_generation = writer.generation();
            let interval = receiver.spec.interval.filter(|it| !it.is_zero()).unwrap_or(DEFAULT_INTERVAL);
            let text = format!("Reconciliation finished, next run in {interval}");
            // The path is as good as a password: it stands in the status by contract, and nowhere else (NTF-95).
            let event = EventDraft::info(reason::SUCCEEDED, text.clone());
            return Outcome::new(desired, Next::Interval(Duration::from(interval))).event(event).info(text);
        }
        Observed::NoToken(text) => {
            status.webhook_path = None;
            // The API's default for a status that nobody has written: nothing is observed yet.
            if status.observed_generation == 0 {
                status.observed_generation = -1;
            }
            Failure::retried(TOKEN_NOT_FOUND, text).reported_as(reason::FAILED)
        }
        Observed::BadExpression(text) => {
            Failure::stalled(reason::INVALID_CEL_EXPRESSION, format!("{TERMINAL}{text}"))
        }
        Observed::BadSpec(text) => Failure::stalled(VALIDATION_FAILED, format!("{TERMINAL}{text}")),
    };
    failure.outcome(desired, &writer, "Reconciliation in progress")
}

#[cfg(test)]
mod tests;
