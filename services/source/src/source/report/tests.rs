use rstest::rstest;
use serde_json::{Value, json};
use weir_api::SourceObject;
use weir_api::{FluxObject, GitRepository, HelmRepository};

use super::*;

const REVISION: &str = "main@sha1:05770d51bf5487f95e421df60813d6c8bd5c4b63";

fn now() -> jiff::Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

fn object(generation: i64, status: Value) -> GitRepository {
    serde_json::from_value(json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": { "name": "a", "namespace": "b", "generation": generation },
        "spec": { "url": "https://h/r", "interval": "1m" }, "status": status,
    }))
    .unwrap()
}

fn artifact(digest: &str) -> Artifact {
    Artifact { revision: REVISION.into(), digest: digest.into(), path: "p".into(), ..Artifact::default() }
}

fn success(digest: &str) -> Success {
    Success {
        unchanged: Some(EventDraft::trace("GitOperationSucceeded", "no changes")),
        ..Success::new(artifact(digest), "stored artifact for commit 'c'")
    }
}

fn report(before: &GitRepository, result: Result<Success, Failure>) -> Outcome<GitRepository> {
    let found = if before.artifact().is_some() { Found::Whole } else { Found::Nothing };
    let report = Report {
        before,
        found: &found,
        collected: 0,
        progress: progress(before, &found, now()),
        stored_message,
        now: now(),
    };
    report.outcome(before.clone(), result)
}

/// Conditions in order: type, status, reason, observedGeneration.
fn conditions(object: &GitRepository) -> Vec<(String, String, String, i64)> {
    let line = |condition: &Condition| {
        let generation = condition.observed_generation.unwrap();
        (condition.type_.clone(), condition.status.clone(), condition.reason.clone(), generation)
    };
    object.conditions().iter().map(line).collect()
}

fn expected(lines: &[(&str, &str, &str, i64)]) -> Vec<(String, String, String, i64)> {
    lines.iter().map(|(a, b, c, d)| ((*a).into(), (*b).into(), (*c).into(), *d)).collect()
}

fn events(outcome: &Outcome<GitRepository>) -> Vec<&str> {
    outcome.events.iter().map(|event| event.reason.as_str()).collect()
}

#[test]
fn first_artifact() {
    let outcome = report(&object(1, json!({ "observedGeneration": -1 })), Ok(success("sha256:a")));
    let lines = [("Ready", "True", "Succeeded", 1), ("ArtifactInStorage", "True", "Succeeded", 1)];
    assert_eq!(conditions(&outcome.object), expected(&lines));
    assert_eq!(outcome.object.observed_generation(), 1);
    assert_eq!(outcome.next, Next::Interval(std::time::Duration::from_secs(60)));
    assert_eq!(events(&outcome), ["NewArtifact", "GitOperationSucceeded"]);
    assert_eq!(outcome.events[0].metadata[REVISION_KEY], REVISION);
}

#[test]
fn nothing_new_tells_only_kubernetes_and_changes_nothing() {
    let first = report(&object(1, json!({})), Ok(success("sha256:a"))).object;
    let again = report(&first, Ok(success("sha256:a")));
    assert_eq!(events(&again), ["GitOperationSucceeded"]);
    assert_eq!(again.object.status, first.status);
}

#[test]
fn the_same_content_as_another_revision_is_told_nobody() {
    let first = report(&object(1, json!({})), Ok(success("sha256:a"))).object;
    let moved = Artifact { revision: "main@sha1:2".into(), ..artifact("sha256:a") };
    let outcome = report(&first, Ok(Success::new(moved, "stored artifact for commit 'd'")));
    assert!(events(&outcome).is_empty());
    assert_eq!(outcome.object.artifact().unwrap().revision, "main@sha1:2");
    let again = Success::new(artifact("sha256:a"), "stored artifact for commit 'c'");
    assert!(events(&report(&first, Ok(again))).is_empty(), "made again from other settings");
}

/// SRC-EVT-1: a signature that is good again is reported by its verification, and not as the recovery of the source.
#[test]
fn a_signature_that_is_good_again_is_no_recovery() {
    let first = report(&object(1, json!({})), Ok(success("sha256:a"))).object;
    let unverified = Failure::verification("InvalidCommitSignature", "no");
    let refuted = report(&first, Err(unverified)).object;
    let again = Success::new(artifact("sha256:a"), "stored artifact for commit 'c'");
    assert!(events(&report(&refuted, Ok(again))).is_empty());
}

#[test]
fn a_failure_after_a_new_generation() {
    let mut before = report(&object(1, json!({})), Ok(success("sha256:a"))).object;
    before.metadata.generation = Some(2);
    let outcome = report(&before, Err(Failure::fetch("GitOperationFailed", "no")));
    let lines = [
        ("Reconciling", "True", "ProgressingWithRetry", 2),
        ("Ready", "False", "GitOperationFailed", 2),
        ("FetchFailed", "True", "GitOperationFailed", 2),
        ("ArtifactInStorage", "True", "Succeeded", 1),
    ];
    assert_eq!(conditions(&outcome.object), expected(&lines));
    assert_eq!(outcome.object.conditions()[0].message, "processing object: new generation 1 -> 2");
    assert_eq!(outcome.object.observed_generation(), 1);
    assert_eq!(outcome.next, Next::Backoff);
    let recovered = report(&outcome.object, Ok(success("sha256:a")));
    assert_eq!(events(&recovered), ["Succeeded", "GitOperationSucceeded"]);
}

/// SRC-REC-8: Ready tells of the failure, and not that something newer is there.
#[test]
fn an_artifact_that_stays_outdated_because_the_disk_is_full() {
    let mut before = report(&object(1, json!({})), Ok(success("sha256:a"))).object;
    let outdated = |object: &mut GitRepository| {
        let conditions = object.status_mut().conditions;
        condition::set(conditions, ARTIFACT_OUTDATED, Status::True, "NewRevision", "new", 1, now());
    };
    outdated(&mut before);
    let lines = [
        ("Reconciling", "True", "ProgressingWithRetry", 1),
        ("Ready", "False", "ArchiveOperationFailed", 1),
        ("ArtifactInStorage", "True", "Succeeded", 1),
        ("ArtifactOutdated", "True", "NewRevision", 1),
        ("StorageOperationFailed", "True", "ArchiveOperationFailed", 1),
    ];
    let failed = report(&before, Err(Failure::disk("no space left on device"))).object;
    assert_eq!(conditions(&failed), expected(&lines));
    let recovered = report(&failed, Ok(success("sha256:b"))).object;
    let lines = [("Ready", "True", "Succeeded", 1), ("ArtifactInStorage", "True", "Succeeded", 1)];
    assert_eq!(conditions(&recovered), expected(&lines));
}

#[test]
fn a_stalled_object_waits_for_a_person() {
    let failure = Failure::fetch("URLInvalid", "no").stalled();
    let outcome = report(&object(3, json!({ "observedGeneration": -1 })), Err(failure));
    let lines = [
        ("Stalled", "True", "URLInvalid", 3),
        ("Ready", "False", "URLInvalid", 3),
        ("FetchFailed", "True", "URLInvalid", 3),
    ];
    assert_eq!(conditions(&outcome.object), expected(&lines));
    assert_eq!((outcome.object.observed_generation(), outcome.next), (3, Next::Stop));
}

#[test]
fn a_stall_may_have_a_reason_of_its_own() {
    let failure = Failure::fetch("SourceUnavailable", "no").stalled_for("UnsupportedSourceKind");
    let outcome = report(&object(3, json!({ "observedGeneration": -1 })), Err(failure));
    let lines = [
        ("Stalled", "True", "UnsupportedSourceKind", 3),
        ("Ready", "False", "SourceUnavailable", 3),
        ("FetchFailed", "True", "SourceUnavailable", 3),
    ];
    assert_eq!(conditions(&outcome.object), expected(&lines));
    assert_eq!((events(&outcome), outcome.next), (vec!["UnsupportedSourceKind"], Next::Stop));
}

/// SRC-CHT-3.
#[test]
fn who_waits_for_a_neighbour_is_looked_at_soon_and_nobody_is_warned() {
    let failure = Failure::fetch("NoSourceArtifact", "no").requeued();
    let outcome = report(&object(1, json!({})), Err(failure));
    let lines = [
        ("Reconciling", "True", "ProgressingWithRetry", 1),
        ("Ready", "False", "NoSourceArtifact", 1),
        ("FetchFailed", "True", "NoSourceArtifact", 1),
    ];
    assert_eq!(conditions(&outcome.object), expected(&lines));
    assert_eq!((&outcome.events[0].severity, outcome.next), (&weir_runtime::Severity::Trace, Next::Backoff));
}

#[test]
fn a_bad_signature_is_a_false_condition() {
    let outcome = report(&object(1, json!({})), Err(Failure::verification("VerificationError", "no")));
    let lines = [
        ("Reconciling", "True", "ProgressingWithRetry", 1),
        ("Ready", "False", "VerificationError", 1),
        ("SourceVerified", "False", "VerificationError", 1),
    ];
    assert_eq!(conditions(&outcome.object), expected(&lines));
}

#[rstest]
#[case(Found::Nothing, "building artifact")]
#[case(Found::Missing, "building artifact: disappeared from storage")]
#[case(Found::Whole, "processing object: new generation -1 -> 1")]
fn progress_messages(#[case] found: Found, #[case] message: &str) {
    assert_eq!(progress(&object(1, json!({ "observedGeneration": -1 })), &found, now()), message);
}

#[test]
fn a_lost_artifact_is_no_longer_advertised() {
    let mut object = report(&object(1, json!({})), Ok(success("sha256:a"))).object;
    assert_eq!(known_artifact(&mut object, &Found::Missing, |_| None), None);
    assert!(object.artifact().is_none());
    assert!(condition::find(object.conditions(), ARTIFACT_IN_STORAGE).is_none());
}

#[test]
fn an_artifact_gets_its_present_address() {
    let mut object = report(&object(1, json!({})), Ok(success("sha256:a"))).object;
    let known =
        known_artifact(&mut object, &Found::Whole, |path| Some(format!("http://new/{path}"))).unwrap();
    assert_eq!(known.url, "http://new/p");
    assert_eq!(object.artifact().unwrap().url, "http://new/p");
}

/// SRC-REC-16: the link beside it moves along.
#[test]
fn a_link_gets_its_present_address() {
    let link = "http://old.host./helmrepository/b/a/index.yaml";
    let mut object: HelmRepository = serde_json::from_value(json!({
        "metadata": { "name": "a", "namespace": "b" }, "spec": { "url": "https://h/charts" },
        "status": { "url": link, "artifact": { "path": "helmrepository/b/a/index-1.yaml", "url": "http://old.host./x",
            "revision": "sha256:1", "digest": "sha256:a", "lastUpdateTime": "2026-01-02T03:04:05Z" } },
    }))
    .unwrap();
    let unreadable = Found::Unreadable { reason: "too many open files".into() };
    let url = |path: &str| Some(format!("http://new/{path}"));
    assert_eq!(known_artifact(&mut object, &unreadable, url), None);
    assert_eq!(object.status.as_ref().unwrap().url.as_deref(), Some(link), "it may be read again");
    assert!(object.artifact().is_some());
    known_artifact(&mut object, &Found::Whole, url).unwrap();
    assert_eq!(object.status.unwrap().url.as_deref(), Some("http://new/helmrepository/b/a/index.yaml"));
}

/// As in Flux: that the artifact is up to date is found before, that the remote has nothing new is told after.
#[test]
fn the_order_of_events_after_a_recovery() {
    let first = report(&object(1, json!({})), Ok(success("sha256:a"))).object;
    let failed = report(&first, Err(Failure::fetch("GitOperationFailed", "no"))).object;
    let up_to_date = Success::up_to_date(artifact("sha256:a"), "stored");
    assert_eq!(events(&report(&failed, Ok(up_to_date))), ["ArtifactUpToDate", "Succeeded"]);
    assert_eq!(events(&report(&failed, Ok(success("sha256:a")))), ["Succeeded", "GitOperationSucceeded"]);
}

#[test]
fn what_waits_for_another_object_is_no_error() {
    let pause = std::time::Duration::from_secs(30);
    let failure = Failure::new(INCLUDE_UNAVAILABLE, "NotFound", "no").waiting(pause);
    let outcome = report(&object(1, json!({})), Err(failure));
    assert_eq!(outcome.next, Next::After(pause));
    assert_eq!(outcome.log, Some((tracing::Level::INFO, "no".to_owned())));
}

#[test]
fn kinds_may_have_reasons_of_their_own() {
    let success = Success { reason: Some("ChartPullSucceeded"), ..success("sha256:a") };
    let outcome = report(&object(1, json!({})), Ok(success));
    let lines =
        [("Ready", "True", "ChartPullSucceeded", 1), ("ArtifactInStorage", "True", "ChartPullSucceeded", 1)];
    assert_eq!(conditions(&outcome.object), expected(&lines));
    assert_eq!(events(&outcome), ["ChartPullSucceeded", "GitOperationSucceeded"]);
}

fn stored_message(success: &Success) -> String {
    format!("stored artifact for revision '{}'", success.artifact.revision)
}

/// SRC-REC-2: a repository of charts need not say how often it is looked at.
#[rstest]
#[case(json!({}), 60)]
#[case(json!({ "interval": "0s" }), 60)]
#[case(json!({ "interval": "5m" }), 300)]
fn an_interval_that_is_not_given(#[case] mut spec: Value, #[case] seconds: u64) {
    spec["url"] = json!("https://h/charts");
    let before: HelmRepository =
        serde_json::from_value(json!({ "metadata": { "name": "a" }, "spec": spec })).unwrap();
    let found = Found::Nothing;
    let report = Report {
        before: &before,
        found: &found,
        collected: 0,
        progress: String::new(),
        stored_message,
        now: now(),
    };
    let outcome = report.outcome(before.clone(), Ok(success("sha256:a")));
    assert_eq!(outcome.next, Next::Interval(std::time::Duration::from_secs(seconds)));
}
