//! Tests of the status, one row per situation.

use rstest::rstest;
use weir_api::notification::ReceiverStatus;
use weir_api::{Condition, LocalObjectReference};

use super::*;

fn receiver(kind: &str) -> Receiver {
    let mut receiver = Receiver::default();
    receiver.metadata.name = Some("github-receiver".into());
    receiver.metadata.namespace = Some("flux-system".into());
    receiver.metadata.generation = Some(2);
    receiver.spec.type_ = kind.into();
    receiver.spec.secret_ref = Some(LocalObjectReference::from("token"));
    receiver
}

fn decided(receiver: &Receiver, observed: Observed) -> String {
    let outcome = decide(receiver, observed, "2026-01-02T03:04:05Z".parse().unwrap());
    let status = outcome.object.status.unwrap();
    let line = |c: &Condition| format!("{}={} {}: {}\n", c.type_, c.status, c.reason, c.message);
    let conditions: String = status.conditions.iter().map(line).collect();
    let events: String =
        outcome.events.iter().map(|e| format!("{:?} {}: {}\n", e.severity, e.reason, e.message)).collect();
    format!(
        "{conditions}path {:?}, generation {}, next {:?}\n{events}",
        status.webhook_path, status.observed_generation, outcome.next
    )
}

#[test]
fn a_token_makes_it_ready() {
    insta::assert_snapshot!(decided(&receiver("github"), Observed::Token(b"test-token".to_vec())), @r#"
    Ready=True Succeeded: Receiver initialized for path: /hook/df3ebadde655d58cd8236886baaaca95ff9c420f4c89e11a5d91965baa0cdf0f
    path Some("/hook/df3ebadde655d58cd8236886baaaca95ff9c420f4c89e11a5d91965baa0cdf0f"), generation 2, next Interval(600s)
    Info Succeeded: Reconciliation finished, next run in 10m0s
    "#);
}

#[test]
fn without_a_token_it_is_tried_again() {
    insta::assert_snapshot!(decided(&receiver("github"), Observed::NoToken("no token".into())), @r"
    Reconciling=True ProgressingWithRetry: Reconciliation in progress
    Ready=False TokenNotFound: no token
    path None, generation -1, next Backoff
    Error Failed: no token
    ");
}

#[test]
fn a_bad_filter_stalls_and_keeps_the_path() {
    let mut receiver = receiver("github");
    receiver.status = Some(ReceiverStatus { webhook_path: Some("/hook/x".into()), ..Default::default() });
    insta::assert_snapshot!(decided(&receiver, Observed::BadExpression("bad".into())), @r#"
    Stalled=True InvalidCELExpression: Reconciliation failed terminally due to configuration error: bad
    Ready=False InvalidCELExpression: Reconciliation failed terminally due to configuration error: bad
    path Some("/hook/x"), generation 2, next Stop
    Error InvalidCELExpression: Reconciliation failed terminally due to configuration error: bad
    "#);
}

#[rstest]
#[case("github", true, Ok(()))]
#[case("github", false, Err("secretRef is required when type is not generic-oidc"))]
#[case("generic-oidc", false, Err("generic-oidc receiver requires at least one oidcProvider"))]
fn fields_must_fit_together(
    #[case] kind: &str,
    #[case] has_secret: bool,
    #[case] expected: Result<(), &str>,
) {
    let mut receiver = receiver(kind);
    if !has_secret {
        receiver.spec.secret_ref = None;
    }
    assert_eq!(check_fields(&receiver.spec), expected.map_err(str::to_owned));
}

#[test]
fn bad_filters_are_named_with_their_place() {
    let mut receiver = receiver("github");
    receiver.spec.resource_filter = Some("req.x == 1".into());
    receiver.spec.resources.push(Default::default());
    receiver.spec.resources[0].reference.kind = "GitRepository".into();
    receiver.spec.resources[0].reference.name = "app".into();
    receiver.spec.resources[0].filter = Some("req.flag".into());
    let error = Filters::compile(&receiver.spec).map(drop).unwrap_err();
    assert_eq!(
        error,
        "invalid filter expression for resources[0] (kind=\"GitRepository\", name=\"app\"): \
         CEL expression output type mismatch: expected bool, got dyn"
    );
}
