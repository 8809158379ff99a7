//! One row per way that a run can be decided.

use std::sync::Arc;
use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use weir_access::{GitAccess, GitAccessError, ReadError, SigningSecretError};
use weir_auth::{AppError, GitLogin, GitLoginError};
use weir_git::Remote;
use weir_http::SecretError;
use weir_runtime::Next;

use super::{Failure, decide, superfluous, waits_for_repository};
use crate::image_update_automation::{Settings, failure, observe::Observed};
use crate::policy::Selected;

const SETTINGS: Settings = Settings {
    no_cross_namespace_refs: false,
    workload_identity: false,
    force_push_branch: true,
    all_branch_references: true,
};

/// An automation at generation 2 that has run; `change` is merged into it.
fn observed(change: Value) -> Observed {
    let mut automation = json!({
        "apiVersion": "image.toolkit.fluxcd.io/v1", "kind": "ImageUpdateAutomation",
        "metadata": {"name": "apps", "namespace": "ns", "generation": 2},
        "spec": {
            "interval": "1m", "sourceRef": {"kind": "GitRepository", "name": "app"},
            "git": {"commit": {"author": {"email": "bot@x"}}}, "update": {"strategy": "Setters"},
        },
        "status": {
            "observedGeneration": 2, "observedSourceRevision": "main@sha1:abc",
            "observedPolicies": {"app": {"name": "r/app", "tag": "1"}},
        },
    });
    json_patch::merge(&mut automation, &change);
    let repository = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": "app", "namespace": "ns"},
        "spec": {"url": "https://h/r", "interval": "1m", "ref": {"branch": "main"}},
    });
    let remote = Remote::new("https://h/r".parse().unwrap());
    let access = GitAccess { remote, login: GitLogin::Secret };
    Observed {
        automation: Arc::new(serde_json::from_value(automation).unwrap()),
        repository: Some((Arc::new(serde_json::from_value(repository).unwrap()), Ok(access))),
        signing_key: None,
        policies: Ok(selected("1")),
        settings: SETTINGS,
    }
}

fn selected(tag: &str) -> Selected {
    let latest = json!({"name": "r/app", "tag": tag});
    Selected::from([("app".to_owned(), serde_json::from_value(latest).unwrap())])
}

#[rstest]
#[case::nothing_changed(json!({}), Some("main@sha1:abc"), true)]
#[case::new_generation(json!({"metadata": {"generation": 3}}), None, true)]
#[case::never_run(json!({"status": null}), None, false)]
#[case::never_succeeded(json!({"status": {"observedSourceRevision": null}}), None, false)]
#[case::other_image(json!({"status": {"observedPolicies": {"app": {"tag": "0"}}}}), None, false)]
#[case::other_branch(json!({"spec": {"git": {"push": {"branch": "auto"}}}}), None, false)]
#[case::refspec(json!({"spec": {"git": {"push": {"refspec": "main:refs/for/main"}}}}), None, false)]
#[case::name(json!({"spec": {"git": {"checkout": {"ref": {"name": "refs/heads/main"}}, "push": {"branch": "main"}}}, "status": null}), None, true)]
#[case::never_run_but_stalled(json!({"status": {"conditions": [{
    "type": "Stalled", "status": "True", "reason": "InvalidSourceConfiguration", "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}]}}), None, true)]
#[case::commit(json!({"spec": {"git": {"checkout": {"ref": {"commit": "abc"}}, "push": {"branch": "x"}}}}), None, false)]
fn a_run_is_short_only_when_nothing_can_have_changed(
    #[case] change: Value,
    #[case] known: Option<&str>,
    #[case] looks_first: bool,
) {
    let work = decide(&observed(change)).unwrap();
    assert_eq!((work.known_revision.as_deref(), work.looks_first), (known, looks_first));
}

/// A remote that is gone, or wants another login, is told as Flux tells it.
#[rstest]
#[case(true, "failed to checkout source: unable to list remote for 'https://h/r': repository not found: ")]
#[case(false, "failed to checkout source: unable to clone 'https://h/r': repository not found: ")]
fn words_of_failed_checkouts(#[case] looks_first: bool, #[case] expected: &str) {
    let error = weir_git::Error::RepositoryNotFound { detail: String::new() };
    assert_eq!(failure::checkout(&error, "https://h/r", looks_first).message, expected);
}

const HEAD: &str = "0123456789012345678901234567890123456789";

/// IU-12: a refspec is owed only where the note is about this commit, whatever else has failed.
#[rstest]
#[case::noted("main:refs/for/main", Some(HEAD), true)]
#[case::noted_of_another_commit(
    "main:refs/for/main",
    Some("9876543210987654321098765432109876543210"),
    false
)]
#[case::noted_before_the_refspec_was_corrected("main:copy", Some(HEAD), true)]
#[case::never_noted("main:refs/for/main", None, false)]
fn a_refspec_is_owed_by_its_note(#[case] refspec: &str, #[case] noted: Option<&str>, #[case] is_owed: bool) {
    let condition = |type_: &str, status: &str, message: String| json!({"type": type_, "status": status, "reason": "Any", "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let mut conditions = vec![condition("Ready", "False", "no such branch".to_owned())];
    conditions.extend(noted.map(|commit| {
        let text = format!("refspec 'main:refs/for/main' is to be pushed for commit '{commit}'");
        condition("RefspecPending", "True", text)
    }));
    let push = json!({"push": {"refspec": refspec}});
    let change = json!({"spec": {"git": push}, "status": {"conditions": conditions}});
    let work = decide(&observed(change)).unwrap();
    assert_eq!(work.owes_refspec_of(HEAD.parse().unwrap()), is_owed);
}

#[test]
fn a_new_selection_needs_a_full_run() {
    let observed = Observed { policies: Ok(selected("2")), ..observed(json!({})) };
    let work = decide(&observed).unwrap();
    assert_eq!(work.known_revision, None);
    assert_eq!(work.setters.value("ns:app"), Some("r/app:2"));
}

#[rstest]
#[case(json!({"spec": {"sourceRef": {"kind": "Bucket"}}}), "InvalidSourceConfiguration",
    "source kind 'Bucket' not supported: invalid source configuration")]
#[case(json!({"spec": {"git": null}}), "InvalidSourceConfiguration",
    "source kind 'GitRepository' necessitates field .spec.git: invalid source configuration")]
#[case(json!({"spec": {"update": null}}), "InvalidUpdateStrategy", "no update strategy")]
#[case(json!({"spec": {"update": {"strategy": "Magic"}}}), "InvalidUpdateStrategy", "unsupported update strategy: Magic")]
#[case(
    json!({"metadata": {"annotations": {"weir.dev/message-template-engine": "Handlebars"}}}),
    "InvalidTemplateEngine",
    "annotation weir.dev/message-template-engine must be 'go' or 'handlebars', not 'Handlebars'"
)]
fn what_only_a_new_spec_can_mend_stalls(#[case] change: Value, #[case] reason: &str, #[case] message: &str) {
    let failure = decide(&observed(change)).unwrap_err();
    assert_eq!((failure.reason, failure.message.as_str(), failure.is_stalled()), (reason, message, true));
}

#[test]
fn a_bad_selector_stalls() {
    let observed = Observed { policies: Err("no operator".to_owned()), ..observed(json!({})) };
    let failure = decide(&observed).unwrap_err();
    let message = "failed to parse policy selector: no operator".to_owned();
    assert_eq!(failure, Failure::stalled("InvalidPolicySelector", message));
}

#[test]
fn another_namespace_is_blocked_by_the_flag() {
    let change = json!({"spec": {"sourceRef": {"namespace": "other"}}});
    let settings = Settings { no_cross_namespace_refs: true, ..SETTINGS };
    let failure = decide(&Observed { settings, ..observed(change) }).unwrap_err();
    let message =
        "can't access 'GitRepository/other/app', cross-namespace references have been blocked".to_owned();
    assert_eq!(failure, Failure::stalled("AccessDenied", message));
}

/// Templates of manifests leave empty texts where nothing is given.
#[test]
fn empty_texts_name_nothing() {
    let settings = Settings { no_cross_namespace_refs: true, ..SETTINGS };
    let change = json!({"spec": {"sourceRef": {"namespace": ""}}});
    let mut observed = Observed { settings, ..observed(change) };
    let mut decided_with = |account: &str| {
        let repository = Arc::make_mut(&mut observed.repository.as_mut().unwrap().0);
        repository.spec.provider = Some("azure".to_owned());
        repository.spec.service_account_name = Some(account.to_owned());
        decide(&observed).map(drop).map_err(|failure| failure.reason)
    };
    assert_eq!(decided_with(""), Ok(()));
    assert_eq!(decided_with("deployer"), Err("FeatureGateDisabled"));
}

#[test]
fn sources_that_are_not_there_are_tried_again() {
    let failure = decide(&Observed { repository: None, ..observed(json!({})) }).unwrap_err();
    assert_eq!(
        failure.to_string(),
        "failed configuring source manager: referenced git repository does not exist: \
         GitRepository.source.toolkit.fluxcd.io \"app\" not found"
    );
}

/// IU-15: nothing is pushed of what could delete a reference.
#[test]
fn a_refspec_without_a_source_is_refused() {
    let change = json!({"spec": {"git": {"push": {"refspec": ":refs/heads/main"}}}});
    let failure = decide(&observed(change)).unwrap_err();
    let message = "failed to update source: invalid refspec ':refs/heads/main'";
    assert_eq!((failure.reason, failure.message.as_str()), ("GitOperationFailed", message));
}

fn unread() -> ReadError {
    let message = "secrets \"s\" not found".to_owned();
    ReadError { kind: "secret".to_owned(), place: "ns/s".to_owned(), is_not_found: true, message }
}

#[rstest]
#[case::secret(
    GitAccessError::Secret(unread()),
    "SourceManagerFailed",
    "failed configuring source manager: failed to get auth secret 'ns/s': secrets \"s\" not found"
)]
#[case::proxy(GitAccessError::Proxy(unread().into()), "SourceManagerFailed",
    "failed configuring source manager: secret 'ns/s' not found")]
#[case::proxy_address(
    GitAccessError::Proxy(SecretError::EmptyProxy { place: "ns/s".to_owned() }.into()), "SourceManagerFailed",
    "failed configuring source manager: secret 'ns/s': proxy address is empty")]
#[case::app(
    GitAccessError::Login(AppError::NoKey { place: "ns/s".to_owned(), key: "k" }.into()), "InvalidSourceConfiguration",
    "secretRef with github app data must be specified when provider is set to github: invalid source configuration")]
#[case::installation(
    GitAccessError::Login(AppError::Installation { place: "ns/s".to_owned() }.into()), "SourceManagerFailed",
    "failed configuring source manager: secret 'ns/s' must contain exactly one of 'githubAppInstallationOwner' or 'githubAppInstallationID'")]
#[case::app_id(
    GitAccessError::Login(AppError::Value { place: "ns/s".to_owned(), key: "k", kind: "number" }.into()), "SourceManagerFailed",
    "failed configuring source manager: failed to configure authentication options: secret 'ns/s': key 'k' is no number")]
#[case::provider(
    GitAccessError::Login(GitLoginError::NoApp),
    "InvalidSourceConfiguration",
    "secretRef with github app data must be specified when provider is set to github: invalid source configuration"
)]
fn repositories_that_cannot_be_reached(
    #[case] error: GitAccessError,
    #[case] reason: &str,
    #[case] message: &str,
) {
    let mut observed = observed(json!({}));
    observed.repository.as_mut().unwrap().1 = Err(error);
    let failure = decide(&observed).unwrap_err();
    assert_eq!((failure.reason, failure.message.as_str()), (reason, message));
}

#[test]
fn a_key_that_cannot_sign_keeps_commits_from_being_made() {
    let unread = SigningSecretError::Secret { name: "s".to_owned(), source: unread() };
    let failure = decide(&Observed { signing_key: Some(Err(unread)), ..observed(json!({})) }).unwrap_err();
    let message =
        "failed configuring source manager: could not find signing key secret 's': secrets \"s\" not found";
    assert_eq!((failure.reason, failure.message.as_str()), ("SourceManagerFailed", message));
}

#[test]
fn a_reference_that_is_none_is_named() {
    let policies = Ok(Selected::from([(
        "app".to_owned(),
        weir_api::image::ImageRef { name: "bad name".to_owned(), tag: "1".to_owned(), digest: String::new() },
    )]));
    let failure = decide(&Observed { policies, ..observed(json!({})) }).unwrap_err();
    assert!(
        failure
            .to_string()
            .starts_with("failed to apply policies: encountered invalid image ref \"bad name:1\": ")
    );
}

#[rstest]
#[case::same_selection(json!({}), Some(50))]
#[case::new_generation(json!({"metadata": {"generation": 3}}), None)]
#[case::failed_before(json!({"status": {"conditions": []}}), None)]
#[case::due(json!({"spec": {"interval": "5s"}}), None)]
fn a_wake_up_that_was_not_meant_waits_for_the_interval(#[case] change: Value, #[case] seconds: Option<u64>) {
    let mut status = json!({"status": {
        "lastAutomationRunTime": "2026-01-01T00:00:00Z",
        "conditions": [{
            "type": "Ready", "status": "True", "reason": "Succeeded", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }],
    }});
    json_patch::merge(&mut status, &change);
    let next = seconds.map(|seconds| Next::After(Duration::from_secs(seconds)));
    assert_eq!(superfluous(&observed(status.clone()), "2026-01-01T00:00:10Z".parse().unwrap()), next);
    let observed = Observed { policies: Ok(selected("2")), ..observed(status) };
    assert_eq!(superfluous(&observed, "2026-01-01T00:00:10Z".parse().unwrap()), None);
}

/// IU-5
#[rstest]
#[case::new(json!({}), true, 1, true)]
#[case::old(json!({}), true, 2, false)]
#[case::of_another_clock(json!({}), true, -1, false)]
#[case::there(json!({}), false, 1, false)]
#[case::was_run(json!({"status": {"conditions": [{
    "type": "Ready", "status": "False", "reason": "x", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"
}]}}), true, 1, false)]
fn a_new_automation_waits_for_its_repository(
    #[case] change: Value,
    #[case] is_missing: bool,
    #[case] age: i64,
    #[case] waits: bool,
) {
    let mut made = json!({"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}});
    json_patch::merge(&mut made, &change);
    let mut observed = observed(made);
    observed.repository.take_if(|_| is_missing);
    let now =
        "2026-01-01T00:00:00Z".parse::<jiff::Timestamp>().unwrap() + jiff::SignedDuration::from_secs(age);
    assert_eq!(waits_for_repository(&observed, now).is_some(), waits);
}
