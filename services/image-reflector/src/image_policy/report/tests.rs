//! Status and events of selections.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use weir_api::{ImagePolicy, image::ImageRef};
use weir_runtime::condition::Writer;
use weir_runtime::{Next, Severity};

use super::{message, selected};

fn policy(status: Value) -> ImagePolicy {
    let object = json!({
        "apiVersion": "image.toolkit.fluxcd.io/v1", "kind": "ImagePolicy",
        "metadata": {"name": "app", "namespace": "ns", "generation": 1},
        "spec": {"imageRepositoryRef": {"name": "app"}, "policy": {}}, "status": status,
    });
    serde_json::from_value(object).unwrap()
}

fn reference(tag: &str, digest: &str) -> ImageRef {
    ImageRef { name: "r/app".into(), tag: tag.into(), digest: digest.into() }
}

#[rstest]
#[case(None, "Latest image tag for r/app resolved to 2 with digest sha256:d")]
#[case(
    Some(reference("1", "")),
    "Latest image tag for r/app resolved to 2 with digest sha256:d (previously r/app:1)"
)]
#[case(
    Some(reference("2", "sha256:c")),
    "Latest image tag for r/app resolved to 2 with digest sha256:d (previously r/app:2@sha256:c)"
)]
#[case(Some(reference("2", "sha256:d")), "Latest image tag for r/app resolved to 2 with digest sha256:d")]
fn the_message_names_what_was_before(#[case] previous: Option<ImageRef>, #[case] text: &str) {
    assert_eq!(message(&reference("2", "sha256:d"), previous.as_ref()), text);
}

#[test]
fn a_new_selection_moves_the_old_one_aside_and_is_told() {
    let before = policy(json!({"latestRef": {"name": "r/app", "tag": "1"}}));
    let outcome = selected(&before, &Writer::of(&before, jiff::Timestamp::UNIX_EPOCH), reference("2", ""));
    let status = outcome.object.status.unwrap();
    assert_eq!(status.latest_ref, Some(reference("2", "")));
    assert_eq!(status.observed_previous_ref, Some(reference("1", "")));
    assert_eq!((outcome.events[0].severity, outcome.next), (Severity::Info, Next::Interval(Duration::ZERO)));
}

/// Early timers would each cost a run and an event: intervals have no jitter.
#[rstest]
#[case("Always", 60, Next::After(Duration::from_secs(60)))]
#[case("Always", 0, Next::After(Duration::from_secs(600)))]
#[case("IfNotPresent", 60, Next::Interval(Duration::ZERO))]
fn digests_are_looked_up_at_intervals(
    #[case] reflection: &str,
    #[case] seconds: u64,
    #[case] expected: Next,
) {
    let mut before = policy(json!({}));
    before.spec.digest_reflection_policy = Some(reflection.to_owned());
    before.spec.interval = Some(Duration::from_secs(seconds).into());
    let outcome = selected(&before, &Writer::of(&before, jiff::Timestamp::UNIX_EPOCH), reference("2", ""));
    assert_eq!(outcome.next, expected);
}

#[test]
fn the_same_selection_is_told_quietly() {
    let before = policy(json!({"latestRef": {"name": "r/app", "tag": "1"}}));
    let writer = Writer::of(&before, jiff::Timestamp::UNIX_EPOCH);
    let first = selected(&before, &writer, reference("1", ""));
    let second = selected(&first.object, &writer, reference("1", ""));
    assert_eq!(second.events[0].severity, Severity::Trace);
    assert_eq!(second.object.status, first.object.status);
}
