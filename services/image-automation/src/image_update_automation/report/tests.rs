//! Status and events of each outcome.

use std::time::Duration;

use jiff::Timestamp;
use rstest::rstest;
use serde_json::{Value, json};
use weir_api::ImageUpdateAutomation;
use weir_runtime::{Next, Severity};

use super::{Done, Failure, Pushed, Selected, report};

fn automation(status: Value) -> ImageUpdateAutomation {
    let object = json!({
        "apiVersion": "image.toolkit.fluxcd.io/v1", "kind": "ImageUpdateAutomation",
        "metadata": {"name": "apps", "namespace": "ns", "generation": 2},
        "spec": {"interval": "1m", "sourceRef": {"name": "app"}}, "status": status,
    });
    serde_json::from_value(object).unwrap()
}

fn ready() -> Value {
    json!({"observedGeneration": 2, "conditions": [{
        "type": "Ready", "status": "True", "reason": "Succeeded", "message": "repository up-to-date",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 2,
    }]})
}

fn pushed() -> Done {
    Done::Pushed(Pushed {
        commit: "0123456789abcdef".into(),
        revision: "main@sha1:0123456789abcdef".into(),
        branch: "main".into(),
        refspec: Some("a:b".into()),
        message: "bump\n".into(),
    })
}

fn pushed_without_message() -> Done {
    let Done::Pushed(pushed) = pushed() else { panic!("a push") };
    Done::Pushed(Pushed { message: String::new(), refspec: None, ..pushed })
}

fn up_to_date() -> Done {
    Done::UpToDate { revision: "main@sha1:abc".into(), recovered: None }
}

#[rstest]
#[case(json!({}), up_to_date(), Severity::Info, "repository up-to-date")]
#[case(ready(), up_to_date(), Severity::Trace, "repository up-to-date")]
#[case(ready(), Done::Skipped, Severity::Trace, "no change since last reconciliation")]
#[case(
    ready(),
    pushed(),
    Severity::Info,
    "pushed commit '0123456' to branch 'main' and refspecs 'a:b'\nbump\n"
)]
#[case(ready(), pushed_without_message(), Severity::Info, "pushed commit '0123456' to branch 'main'")]
fn success_is_told_once_and_quietly_after(
    #[case] status: Value,
    #[case] done: Done,
    #[case] severity: Severity,
    #[case] message: &str,
) {
    let outcome = report(&automation(status), Selected::new(), Ok(done), Timestamp::UNIX_EPOCH);
    let [event] = outcome.events.as_slice() else { panic!("one event") };
    assert_eq!((event.severity, event.message.as_str()), (severity, message));
    let status = outcome.object.status.unwrap();
    assert_eq!(status.last_automation_run_time.unwrap().0, Timestamp::UNIX_EPOCH);
    let conditions = status.conditions;
    assert_eq!(conditions.len(), 1);
    assert_eq!(
        (conditions[0].status.as_str(), conditions[0].message.as_str()),
        ("True", "repository up-to-date")
    );
}

#[test]
fn a_push_is_recorded_with_what_it_was_made_of() {
    let selected = Selected::from([("app".to_owned(), weir_api::image::ImageRef::default())]);
    let outcome = report(&automation(ready()), selected.clone(), Ok(pushed()), Timestamp::UNIX_EPOCH);
    let status = outcome.object.status.unwrap();
    assert_eq!(status.last_push_commit.as_deref(), Some("0123456789abcdef"));
    assert_eq!(status.observed_source_revision.as_deref(), Some("main@sha1:0123456789abcdef"));
    assert_eq!(status.observed_policies, selected);
    assert!(status.last_push_time.is_some());
}

/// An interval of zero is none, as in Flux.
#[rstest]
#[case("1m", Next::After(Duration::from_secs(60)))]
#[case("0s", Next::Interval(Duration::ZERO))]
fn the_next_run_comes_after_the_interval(#[case] interval: &str, #[case] expected: Next) {
    let mut automation = automation(ready());
    automation.spec.interval = interval.parse().unwrap();
    let outcome = report(&automation, Selected::new(), Ok(Done::Skipped), Timestamp::UNIX_EPOCH);
    assert_eq!(outcome.next, expected);
}

#[test]
fn a_failure_keeps_what_was_observed_and_is_tried_again() {
    let failure = Failure::retried("GitOperationFailed", "no");
    let outcome = report(&automation(json!({})), Selected::new(), Err(failure), Timestamp::UNIX_EPOCH);
    let status = outcome.object.status.unwrap();
    let conditions: Vec<_> =
        status.conditions.iter().map(|c| (c.type_.as_str(), c.reason.as_str(), c.message.as_str())).collect();
    assert_eq!(
        conditions,
        [
            ("Reconciling", "ProgressingWithRetry", "processing object: new generation 0 -> 2"),
            ("Ready", "GitOperationFailed", "no"),
        ]
    );
    assert_eq!((status.observed_generation, outcome.next), (0, Next::Backoff));
    // IU-2
    assert_eq!(status.last_automation_run_time.unwrap().0, Timestamp::UNIX_EPOCH);
}

/// IU-12: the note ends with a success and outlives any failure.
#[rstest]
#[case(Ok(up_to_date()), false)]
#[case(Ok(pushed()), false)]
#[case(Err(Failure::retried("GitOperationFailed", "no")), true)]
#[case(Err(Failure::stalled("AccessDenied", "no")), true)]
fn the_note_of_a_refspec_ends_with_a_success(#[case] result: Result<Done, Failure>, #[case] is_kept: bool) {
    let note = json!({"conditions": [{
        "type": "RefspecPending", "status": "True", "reason": "PushPending", "message": "refspec",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]});
    let outcome = report(&automation(note), Selected::new(), result, Timestamp::UNIX_EPOCH);
    let conditions = outcome.object.status.unwrap().conditions;
    assert_eq!(conditions.iter().any(|condition| condition.type_ == "RefspecPending"), is_kept);
}

#[test]
fn a_terminal_failure_stalls() {
    let failure = Failure::stalled("AccessDenied", "no");
    let outcome = report(&automation(ready()), Selected::new(), Err(failure), Timestamp::UNIX_EPOCH);
    let status = outcome.object.status.unwrap();
    let types: Vec<_> = status.conditions.iter().map(|c| c.type_.as_str()).collect();
    assert_eq!((types, status.observed_generation, outcome.next), (vec!["Stalled", "Ready"], 2, Next::Stop));
}

#[test]
fn long_messages_are_cut_at_their_end() {
    let done = Done::Pushed(Pushed {
        commit: "0123456789".into(),
        revision: String::new(),
        branch: "main".into(),
        refspec: None,
        message: "ä".repeat(40_000),
    });
    let outcome = report(&automation(ready()), Selected::new(), Ok(done), Timestamp::UNIX_EPOCH);
    assert!(outcome.events[0].message.len() <= 39_000);
    assert!(outcome.events[0].message.starts_with("pushed commit '0123456' to branch 'main'\nä"));
}
