//! One row per situation.

use rstest::rstest;
use serde_json::{Value, json};

use super::super::filter::Filters;
use super::*;

fn receiver(spec: Value) -> Receiver {
    let mut full = json!({"type": "github", "resources": []});
    full.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let metadata = json!({"name": "github-receiver", "namespace": "flux-system", "generation": 2});
    let version = "notification.toolkit.fluxcd.io/v1";
    let is_served = full.as_object_mut().unwrap().remove("served").is_some();
    let ready = json!({"type": "Ready", "status": "True", "reason": "Succeeded", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let status = json!({"observedGeneration": 2, "conditions": is_served.then_some(ready).as_slice()});
    let object = json!({"apiVersion": version, "kind": "Receiver", "metadata": metadata, "spec": full, "status": status});
    serde_json::from_value(object).unwrap()
}

fn bad(what: &str) -> Result<(), String> {
    Err(format!("bad {what}"))
}

fn expressions(filters: Result<(), String>, providers: Result<(), String>) -> Result<Expressions, String> {
    Ok(Expressions { filters, providers })
}

const GOOD: &str = "serves /hook/df3ebadde655d58cd8236886baaaca95ff9c420f4c89e11a5d91965baa0cdf0f";
const NO_SECRET: &str = "stalled ValidationFailed: secretRef is required when type is not generic-oidc";

#[rstest]
#[case::ready(json!({"secretRef": {"name": "t"}}), expressions(Ok(()), Ok(())), Ok("test-token"), GOOD)]
#[case::no_token(json!({"secretRef": {"name": "t"}}), expressions(Ok(()), Ok(())), Err("no token"), "retried TokenNotFound: no token")]
#[case::given_up(json!({"secretRef": {"name": "t"}}), Err("too slow".to_owned()), Ok("test-token"), "retried Failed: too slow")]
#[case::given_up_while_served(json!({"secretRef": {"name": "t"}, "served": true}), Err("too slow".to_owned()), Ok("test-token"), "as before: too slow")]
#[case::no_secret(json!({}), expressions(Ok(()), Ok(())), Ok(""), NO_SECRET)]
#[case::filter_before_fields(json!({}), expressions(bad("filter"), Ok(())), Ok(""), "stalled InvalidCELExpression: bad filter")]
#[case::filter_before_token(json!({"secretRef": {"name": "t"}}), expressions(bad("filter"), Ok(())), Err("no token"), "stalled InvalidCELExpression: bad filter")]
#[case::no_providers(json!({"type": "generic-oidc"}), expressions(Ok(()), Ok(())), Ok(""), "stalled ValidationFailed: generic-oidc receiver requires at least one oidcProvider")]
#[case::fields_of_providers_before_their_expressions(json!({"type": "generic-oidc", "oidcProviders": [{"issuerURL": "x", "audience": "a", "validations": []}]}), expressions(Ok(()), bad("provider")), Ok(""), "stalled ValidationFailed: oidcProviders[0]: issuerURL \"x\" must start with http:// or https://")]
#[case::expressions_of_providers(json!({"type": "generic-oidc", "oidcProviders": [{"issuerURL": "https://x", "audience": "a", "validations": [{"expression": "nope", "message": "m"}]}]}), expressions(Ok(()), bad("provider")), Ok(""), "stalled InvalidCELExpression: bad provider")]
fn decisions(
    #[case] spec: Value,
    #[case] expressions: Result<Expressions, String>,
    #[case] token: Result<&str, &str>,
    #[case] expected: &str,
) {
    let token = token.map(|token| token.as_bytes().to_vec()).map_err(str::to_owned);
    let decided = match decide(&receiver(spec), Observed { expressions, token }) {
        Verdict::Ready(path) => format!("serves {path}"),
        Verdict::AsBefore(text) => format!("as before: {text}"),
        Verdict::Failed(failure) => {
            let kind = if failure.is_stalled() { "stalled" } else { "retried" };
            format!("{kind} {}: {}", failure.reason, failure.message.replace(TERMINAL, ""))
        }
    };
    assert_eq!(decided, expected);
}

#[test]
fn bad_filters_are_named_with_their_place() {
    let resources = json!([{"kind": "GitRepository", "name": "app", "filter": "req.flag"}]);
    let receiver = receiver(json!({"resourceFilter": "req.x == 1", "resources": resources}));
    let error = Filters::compile(&receiver.spec).map(drop).unwrap_err();
    assert_eq!(
        error,
        "invalid filter expression for resources[0] (kind=\"GitRepository\", name=\"app\"): \
         CEL expression output type mismatch: expected bool, got dyn"
    );
}
