//! The events that reach an Alert.

use std::collections::BTreeMap;

use rstest::rstest;

use super::messages::MessageFilter;
use super::*;
use crate::event::ObjectReference;

fn source(kind: &str, name: &str, namespace: Option<&str>) -> CrossNamespaceObjectReference {
    CrossNamespaceObjectReference {
        kind: kind.into(),
        name: name.into(),
        namespace: namespace.map(str::to_owned),
        ..Default::default()
    }
}

fn alert(sources: Vec<CrossNamespaceObjectReference>) -> AlertSpec {
    AlertSpec { event_sources: sources, ..Default::default() }
}

fn event(kind: &str, namespace: &str, name: &str, severity: &str) -> Event {
    let involved_object = ObjectReference {
        kind: kind.into(),
        namespace: namespace.into(),
        name: name.into(),
        ..Default::default()
    };
    Event { involved_object, severity: severity.into(), ..Default::default() }
}

#[rstest]
#[case::any(source("Kustomization", "*", None), "Kustomization", "ops", "web", true)]
#[case::name(source("Kustomization", "web", None), "Kustomization", "ops", "web", true)]
#[case::other_name(source("Kustomization", "web", None), "Kustomization", "ops", "api", false)]
#[case::no_glob(source("Kustomization", "we*", None), "Kustomization", "ops", "web", false)]
#[case::own_namespace_by_default(source("Kustomization", "*", None), "Kustomization", "apps", "web", false)]
#[case::named_namespace(source("Kustomization", "*", Some("apps")), "Kustomization", "apps", "web", true)]
#[case::other_kind(source("GitRepository", "*", None), "Kustomization", "ops", "web", false)]
#[case::kind_has_case(source("Kustomization", "*", None), "kustomization", "ops", "web", false)]
fn sources(
    #[case] source: CrossNamespaceObjectReference,
    #[case] kind: &str,
    #[case] namespace: &str,
    #[case] name: &str,
    #[case] reached: bool,
) {
    let alert = alert(vec![source]);
    let verdict = match_sources("ops", &alert, &event(kind, namespace, name, "info"));
    assert_eq!(verdict == Match::Yes, reached);
}

#[rstest]
#[case(None, "trace", true)]
#[case(Some("info"), "error", true)]
#[case(Some("error"), "error", true)]
#[case(Some("error"), "info", false)]
#[case(Some("error"), "trace", false)]
fn severities(#[case] wanted: Option<&str>, #[case] severity: &str, #[case] reached: bool) {
    let alert = AlertSpec {
        event_severity: wanted.map(str::to_owned),
        ..alert(vec![source("Kustomization", "*", None)])
    };
    assert_eq!(
        match_sources("ops", &alert, &event("Kustomization", "ops", "web", severity)) == Match::Yes,
        reached
    );
}

#[test]
fn a_suspended_alert_gets_nothing() {
    let alert = AlertSpec { suspend: true, ..alert(vec![source("Kustomization", "*", None)]) };
    assert_eq!(match_sources("ops", &alert, &event("Kustomization", "ops", "web", "error")), Match::No);
}

#[test]
fn labels_are_asked_for_only_if_no_plain_source_fits() {
    let labelled = CrossNamespaceObjectReference {
        match_labels: Some(BTreeMap::from([("team".to_owned(), "a".to_owned())])),
        ..source("Kustomization", "web", None)
    };
    let event = event("Kustomization", "ops", "web", "info");
    let only = alert(vec![labelled.clone()]);
    assert_eq!(match_sources("ops", &only, &event), Match::IfLabelled(vec![&labelled]));
    // An empty map fits each object that is there.
    let empty = CrossNamespaceObjectReference { match_labels: Some(BTreeMap::new()), ..labelled.clone() };
    let empty_only = alert(vec![empty.clone()]);
    assert_eq!(match_sources("ops", &empty_only, &event), Match::IfLabelled(vec![&empty]));
    let both = alert(vec![labelled.clone(), source("Kustomization", "web", None)]);
    assert_eq!(match_sources("ops", &both, &event), Match::Yes);
}

#[rstest]
#[case::prefix(&["^ab", "xy$"], &[], "abc", true)]
#[case::suffix(&["^ab", "xy$"], &[], "text xy", true)]
#[case::none(&["^ab", "xy$"], &[], "b", false)]
#[case::first_line_only(&["^ab"], &[], "first\nab", false)]
#[case::exclusion_is_stronger(&["a"], &["b"], "ab", false)]
#[case::bad_inclusion_admits_nothing(&["("], &[], "abc", false)]
#[case::good_one_beside_a_bad_one(&["(", "a"], &[], "abc", true)]
#[case::bad_exclusion_excludes_nothing(&[], &["("], "abc", true)]
#[case::case_insensitive(&["(?i)AB"], &[], "xab", true)]
#[case::ascii_classes(&[r"^\w+$"], &[], "zoë", false)]
fn messages(
    #[case] inclusion: &[&str],
    #[case] exclusion: &[&str],
    #[case] message: &str,
    #[case] admitted: bool,
) {
    let list = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
    let spec =
        AlertSpec { inclusion_list: list(inclusion), exclusion_list: list(exclusion), ..Default::default() };
    assert_eq!(MessageFilter::new(&spec).admits(message, |_| ()), admitted);
}

#[test]
fn expressions_that_do_not_compile_are_named_where_they_matter() {
    let spec = AlertSpec {
        inclusion_list: vec!["(".into(), "a".into(), "*".into()],
        exclusion_list: vec!["[".into()],
        ..Default::default()
    };
    let faults = |message: &str| {
        let mut faults = Vec::new();
        MessageFilter::new(&spec).admits(message, |fault| faults.push(fault.to_owned()));
        faults
    };
    let inclusion = "failed to compile inclusion regex: (";
    assert_eq!(faults("a"), [inclusion, "failed to compile exclusion regex: ["]);
    assert_eq!(faults("b"), [inclusion, "failed to compile inclusion regex: *"]);
}
