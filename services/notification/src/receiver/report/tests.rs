//! The status as it is written.

use weir_api::Condition;
use weir_api::notification::ReceiverStatus;
use weir_runtime::Failure;

use super::*;

fn receiver() -> Receiver {
    let mut receiver = Receiver::default();
    receiver.metadata.generation = Some(2);
    receiver
}

fn reported(receiver: &Receiver, verdict: Verdict) -> String {
    let outcome = report(receiver, verdict, "2026-01-02T03:04:05Z".parse().unwrap());
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
fn a_path_makes_it_ready() {
    insta::assert_snapshot!(reported(&receiver(), Verdict::Ready("/hook/df3e".into())), @r#"
    Ready=True Succeeded: Receiver initialized for path: /hook/df3e
    path Some("/hook/df3e"), generation 2, next Interval(600s)
    Info Succeeded: Reconciliation finished, next run in 10m0s
    "#);
}

#[test]
fn an_interval_of_zero_is_never() {
    let mut receiver = receiver();
    receiver.spec.interval = Some(weir_api::Duration::from_secs(0));
    let reported = reported(&receiver, Verdict::Ready("/hook/df3e".into()));
    assert!(reported.contains("next Stop") && reported.ends_with("next run in 0s\n"), "{reported}");
}

#[test]
fn without_a_token_it_is_tried_again() {
    let failure = Failure::retried("TokenNotFound", "no token").reported_as("Failed");
    insta::assert_snapshot!(reported(&receiver(), Verdict::Failed(failure)), @r"
    Reconciling=True ProgressingWithRetry: Reconciliation in progress
    Ready=False TokenNotFound: no token
    path None, generation -1, next Backoff
    Error Failed: no token
    ");
}

#[test]
fn a_bad_filter_stalls_and_keeps_the_path() {
    let mut receiver = receiver();
    receiver.status = Some(ReceiverStatus { webhook_path: Some("/hook/x".into()), ..Default::default() });
    let failure = Failure::stalled("InvalidCELExpression", "bad");
    insta::assert_snapshot!(reported(&receiver, Verdict::Failed(failure)), @r#"
    Stalled=True InvalidCELExpression: bad
    Ready=False InvalidCELExpression: bad
    path Some("/hook/x"), generation 2, next Stop
    Error InvalidCELExpression: bad
    "#);
}
