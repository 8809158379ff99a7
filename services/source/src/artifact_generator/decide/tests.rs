use rstest::rstest;
use serde_json::{Value, json};

use super::*;

fn generator(spec: Value, status: Value) -> ArtifactGenerator {
    serde_json::from_value(json!({
        "apiVersion": "source.extensions.fluxcd.io/v1beta1", "kind": "ArtifactGenerator",
        "metadata": { "name": "app", "namespace": "apps", "generation": 2, "uid": "u" },
        "spec": spec, "status": status,
    }))
    .unwrap()
}

fn spec() -> Value {
    json!({
        "sources": [
            { "alias": "git", "kind": "GitRepository", "name": "app" },
            { "alias": "oci", "kind": "OCIRepository", "name": "app", "namespace": "shared" },
        ],
        "artifacts": [{ "name": "one", "copy": [{ "from": "@git/**", "to": "@artifact/" }] }],
    })
}

fn changed(pointer: &str, value: Value) -> Value {
    let mut spec = spec();
    match spec.pointer_mut(pointer) {
        Some(slot) => *slot = value,
        None => {
            let (parent, field) = pointer.rsplit_once('/').unwrap();
            spec.pointer_mut(parent).unwrap()[field] = value;
        }
    }
    spec
}

#[rstest]
#[case(changed("/sources/1/alias", json!("git")), "ValidationFailed", "duplicate source alias 'git' found")]
#[case(
    changed("/artifacts", json!([spec()["artifacts"][0], spec()["artifacts"][0]])),
    "ValidationFailed", "duplicate artifact name 'one' found"
)]
#[case(
    changed("/artifacts/0/name", json!("One")),
    "ValidationFailed", "artifact name \"One\" is not a valid Kubernetes object name: a lowercase RFC 1123 subdomain"
)]
#[case(
    changed("/artifacts/0/revision", json!("@other")),
    "ValidationFailed", "artifact one revision source alias 'other' not found"
)]
#[case(spec(), "AccessDenied", "cross-namespace reference to source OCIRepository/shared/app is not allowed")]
fn what_can_never_be_built_is_refused(#[case] spec: Value, #[case] reason: &str, #[case] message: &str) {
    let failure = validate(&generator(spec, json!({})), reason == "AccessDenied").unwrap_err();
    assert_eq!(failure.cause.reason, reason);
    assert!(failure.cause.message.starts_with(message), "{}", failure.cause.message);
    assert!(failure.cause.is_stalled());
}

#[rstest]
#[case(spec(), false)]
#[case(changed("/artifacts/0/originRevision", json!("@other")), false)]
#[case(changed("/sources/1/namespace", json!("apps")), true)]
#[case(changed("/sources/1/namespace", Value::Null), true)]
#[case(changed("/sources/1/namespace", json!("")), true)]
fn what_can_be_built_is_not(#[case] spec: Value, #[case] no_cross_namespace: bool) {
    validate(&generator(spec, json!({})), no_cross_namespace).unwrap();
}

#[test]
fn with_a_pattern_names_are_checked_when_they_are_rendered() {
    let mut spec = changed("/artifacts/0/name", json!("{app}"));
    spec["pathPattern"] = json!("@git/{app}");
    validate(&generator(spec, json!({})), false).unwrap();
}

fn input(alias: &str, revision: &str) -> Input {
    let artifact = Artifact {
        url: "http://x".into(),
        digest: "sha256:1".into(),
        revision: revision.into(),
        ..Artifact::default()
    };
    Input { alias: alias.into(), artifact }
}

#[test]
fn the_digest_of_the_sources_does_not_depend_on_their_order() {
    let text = "a=[digest=sha256:1,revision=r1,url=http://x]|b=[digest=sha256:1,revision=r2,url=http://x]";
    let expected = Digest::of(Algorithm::Sha256, text.as_bytes()).to_string();
    assert_eq!(sources_digest(&[input("b", "r2"), input("a", "r1")]), expected);
}

fn status(changes: Value) -> Value {
    let mut status = json!({
        "conditions": [{
            "type": "Ready", "status": "True", "reason": "Succeeded", "message": "", "observedGeneration": 2,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }],
        "observedSourcesDigest": "sha256:s",
        "inventory": [{ "name": "one", "namespace": "apps", "digest": "sha256:d", "filename": "f" }],
    });
    for (pointer, value) in changes.as_object().unwrap() {
        *status.pointer_mut(pointer).unwrap() = value.clone();
    }
    status
}

#[rstest]
#[case::settled(json!({}), Stored::Whole, Some("sha256:d"), None)]
#[case::failed(json!({"/conditions/0/status": "False"}), Stored::Whole, Some("sha256:d"), Some(Drift::NotReady))]
#[case::changed(json!({"/conditions/0/observedGeneration": 1}), Stored::Whole, Some("sha256:d"),
    Some(Drift::GenerationChanged))]
#[case::sources(json!({"/observedSourcesDigest": "sha256:x"}), Stored::Whole, Some("sha256:d"),
    Some(Drift::SourcesChanged))]
#[case::fewer(json!({"/inventory": []}), Stored::Whole, None, Some(Drift::ArtifactsChanged))]
#[case::missing(json!({}), Stored::Missing, Some("sha256:d"), Some(Drift::ArtifactMissing))]
#[case::broken(json!({}), Stored::Broken, Some("sha256:d"), Some(Drift::ArtifactCorrupted))]
#[case::deleted(json!({}), Stored::Whole, None, Some(Drift::ExternalArtifactsChanged))]
#[case::edited(json!({}), Stored::Whole, Some("sha256:other"), Some(Drift::ExternalArtifactsChanged))]
#[case::in_progress(json!({"/conditions/0/status": "Unknown"}), Stored::Whole, Some("sha256:d"), None)]
fn artifacts_are_built_when_something_differs(
    #[case] changes: Value,
    #[case] stored: Stored,
    #[case] object: Option<&str>,
    #[case] expected: Option<Drift>,
) {
    let generator = generator(spec(), status(changes));
    let objects: Vec<_> =
        object.map(|digest| (ObjectKey::new("apps", "one"), digest.to_owned())).into_iter().collect();
    assert_eq!(drift(&generator, "sha256:s", &[stored], &objects), expected);
}

#[test]
fn a_new_generator_is_built() {
    let generator = generator(spec(), Value::Null);
    assert_eq!(drift(&generator, "sha256:s", &[], &[]), Some(Drift::NotReady));
}

#[test]
fn the_origin_is_that_of_the_source_if_it_knows_one() {
    let mut artifact = input("a", "v1@sha256:1").artifact;
    assert_eq!(origin_revision(&artifact), "v1@sha256:1");
    artifact.metadata.insert(ORIGIN_REVISION.into(), "main@sha1:2".into());
    assert_eq!(origin_revision(&artifact), "main@sha1:2");
}
