use rstest::rstest;
use serde_json::{Value, json};

use super::*;

fn object(spec: Value, status: Value) -> GitRepository {
    let mut full = json!({ "url": "https://h/r", "interval": "1m" });
    full.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    serde_json::from_value(json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": { "name": "a", "namespace": "b" }, "spec": full, "status": status,
    }))
    .unwrap()
}

fn stored() -> Value {
    json!({ "conditions": [{
        "type": "ArtifactInStorage", "status": "True", "reason": "Succeeded", "message": "m",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]})
}

fn with(mut status: Value, field: &str, value: Value) -> Value {
    status[field] = value;
    status
}

fn artifact(revision: &str) -> Artifact {
    Artifact { revision: revision.to_owned(), ..Artifact::default() }
}

#[rstest]
#[case::nothing_changed(json!({}), stored(), true)]
#[case::not_stored(json!({}), json!({}), false)]
#[case::same_ignore(json!({ "ignore": "a" }), with(stored(), "observedIgnore", json!("a")), true)]
#[case::other_ignore(json!({ "ignore": "a" }), stored(), false)]
#[case::empty_is_not_absent(json!({ "ignore": "" }), stored(), false)]
#[case::ignore_is_gone(json!({}), with(stored(), "observedIgnore", json!("a")), false)]
#[case::sparse(json!({ "sparseCheckout": ["a"] }), stored(), false)]
#[case::same_sparse(json!({ "sparseCheckout": ["a"] }), with(stored(), "observedSparseCheckout", json!(["a"])), true)]
fn no_fetch(#[case] spec: Value, #[case] status: Value, #[case] skips: bool) {
    let revision = "main@sha1:05770d51bf5487f95e421df60813d6c8bd5c4b63";
    let plan = question(&object(spec, status), Some(&artifact(revision)), &[]);
    assert_eq!(plan.known.as_deref(), skips.then_some(revision));
}

#[test]
fn old_revision_formats_are_no_change() {
    let known = artifact("main/05770d51bf5487f95e421df60813d6c8bd5c4b63");
    let plan = question(&object(json!({}), stored()), Some(&known), &[]);
    assert_eq!(plan.known.as_deref(), Some("main@sha1:05770d51bf5487f95e421df60813d6c8bd5c4b63"));
}

#[rstest]
#[case::none(&[], &[], false)]
#[case::same(&[("r", "d")], &[("r", "d")], false)]
#[case::new(&[], &[("r", "d")], true)]
#[case::gone(&[("r", "d")], &[], true)]
#[case::other_revision(&[("r", "d")], &[("s", "d")], true)]
#[case::other_content(&[("r", "d")], &[("r", "e")], true)]
#[case::other_order(&[("r", "d"), ("s", "e")], &[("s", "e"), ("r", "d")], true)]
#[case::other_format(
    &[("main/05770d51bf5487f95e421df60813d6c8bd5c4b63", "d")],
    &[("main@sha1:05770d51bf5487f95e421df60813d6c8bd5c4b63", "d")],
    false
)]
fn included_artifacts(#[case] before: &[(&str, &str)], #[case] now: &[(&str, &str)], #[case] differ: bool) {
    let all = |list: &[(&str, &str)]| -> Vec<Artifact> {
        let digest = |digest: &str| digest.to_owned();
        list.iter().map(|(one, two)| Artifact { digest: digest(two), ..artifact(one) }).collect()
    };
    let mut object = object(json!({}), stored());
    object.status.as_mut().unwrap().included_artifacts = all(before);
    assert_eq!(includes_differ(&object, &all(now).iter().collect::<Vec<_>>()), differ);
}

/// DEV 1.
#[rstest]
#[case(json!({ "tag": "v1", "semver": "1.x" }), true)]
#[case(json!({ "tag": "v1" }), false)]
#[case(json!({ "tag": "v1", "semver": "" }), false)]
#[case(json!({ "tag": "v1", "semver": "1.x", "commit": "c" }), false)]
fn both_tag_and_range(#[case] wanted: Value, #[case] told: bool) {
    let mut object = object(json!({ "ref": wanted }), json!({ "observedGeneration": 1 }));
    object.metadata.generation = Some(2);
    assert_eq!(ambiguity(&object).is_some(), told);
    object.metadata.generation = Some(1);
    assert_eq!(ambiguity(&object), None, "only once");
}

/// SRC-GIT-14: the root is all of it.
#[rstest]
#[case(&["."], 0)]
#[case(&["./"], 0)]
#[case(&["d", ""], 0)]
#[case(&["./d", "e"], 2)]
fn sparse_paths_that_are_the_root(#[case] written: &[&str], #[case] limits: usize) {
    let plan = question(&object(json!({ "sparseCheckout": written }), json!({})), None, &[]);
    assert_eq!(plan.sparse.len(), limits);
}

#[rstest]
#[case(Reference::Branch("main".into()), None, Some("GitOperationSucceeded"))]
#[case(Reference::Tag("v1".into()), None, Some("GitOperationSucceeded"))]
#[case(Reference::Semver("1.x".into()), Some("ArtifactUpToDate"), None)]
#[case(Reference::Commit { id: "c".into(), branch: None, name: None }, Some("ArtifactUpToDate"), None)]
fn told_of_what_has_not_changed(
    #[case] reference: Reference,
    #[case] before: Option<&str>,
    #[case] after: Option<&str>,
) {
    let Success { up_to_date, unchanged, .. } = unchanged(artifact("main@sha1:c"), "main@sha1:c", &reference);
    let reasons = [&up_to_date, &unchanged].map(|event| event.as_ref().map(|event| event.reason.as_str()));
    assert_eq!(reasons, [before, after]);
}

/// SRC-GIT-7; that Flux looks at the references first shows in its words.
#[rstest]
#[case::first(Reference::Branch("main".into()), false, "EmptyGitRepository", "git repository is empty")]
#[case::emptied(
    Reference::Branch("main".into()), true, "GitOperationFailed", "unable to list remote for 'u': remote repository is empty"
)]
#[case::name(
    Reference::Name("refs/heads/main".into()), false, "GitOperationFailed",
    "unable to list remote for 'u': remote repository is empty"
)]
#[case::tag(
    Reference::Tag("v1".into()), false, "GitOperationFailed",
    "unable to clone: remote repository is empty: git repository: 'u'"
)]
fn an_empty_repository(
    #[case] reference: Reference,
    #[case] has_known: bool,
    #[case] reason: &str,
    #[case] words: &str,
) {
    let failure = fetch_failure(&Error::Empty, "u", &reference, has_known);
    assert_eq!(failure.cause.reason, reason);
    assert!(failure.cause.message.ends_with(words), "{}", failure.cause.message);
}

/// SRC-SCK-11
#[rstest]
#[case(Reference::Tag("v1".into()))]
#[case(Reference::Name("refs/heads/main".into()))]
#[case(Reference::Semver("1.x".into()))]
fn no_words_repeat_the_password_of_a_url(#[case] reference: Reference) {
    let url = "https://user:hunter2@git.test/app";
    let failure = fetch_failure(&Error::Empty, url, &reference, false);
    assert!(failure.cause.message.contains("git.test/app"), "{}", failure.cause.message);
    assert!(!failure.cause.message.contains("hunter2"), "{}", failure.cause.message);
}

#[rstest]
#[case(false, "unable to clone 'u': authentication required: x")]
#[case(true, "unable to list remote for 'u': authentication required: x")]
fn a_repository_that_lets_nobody_in(#[case] has_known: bool, #[case] words: &str) {
    let error = Error::AuthenticationRequired { detail: "x".to_owned() };
    let failure = fetch_failure(&error, "u", &Reference::Branch("main".into()), has_known);
    assert_eq!(failure.cause.message, format!("failed to checkout and determine revision: {words}"));
}
