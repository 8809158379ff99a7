use proptest::prelude::*;
use weir_yaml::{Node, emit};

use super::plain::Plan;
use super::{Elements, Lists};
use crate::input::parse_one;
use crate::merge::Merger;
use crate::schema::{Field, Schema};

const MERGER: fn() -> Merger<'static> = || Merger { schema: Schema::built_in() };
const FIELD: Field = Field { target: None, merge_keys: None };

fn list(text: &str) -> Vec<Node> {
    parse_one(text).as_seq().unwrap().to_vec()
}

fn printed(list: Vec<Node>) -> String {
    let mut out = String::new();
    emit(&Node::Seq(list), &mut out).unwrap();
    out
}

/// Lists of the texts; of the patch's, `same` and `absent` stand for none of its own.
fn lists(target: &str, patch: &str) -> Lists {
    let patch = match patch {
        "same" => Elements::Same,
        "absent" => Elements::Absent,
        given => Elements::Given(list(given)),
    };
    Lists { target: list(target), patch }
}

/// One of a few values of a field, or nothing.
fn entry(key: &'static str, values: &'static [&'static str]) -> impl Strategy<Value = Option<String>> {
    let value = prop::sample::select(values).prop_map(move |value| format!("{key}: {value}"));
    prop_oneof![1 => Just(None), 5 => value.prop_map(Some)]
}

fn element() -> impl Strategy<Value = String> {
    let directive = prop_oneof![
        6 => Just(None),
        1 => prop::sample::select(&["merge", "replace", "delete", "explode"][..])
            .prop_map(|directive| Some(format!("$patch: {directive}"))),
    ];
    let fields = (
        entry("port", &["1", "2", "3", "4", "'5'", "'yes'"]),
        prop_oneof![2 => Just(None), 3 => entry("protocol", &["TCP", "UDP", "null"])],
        entry("extra", &["{}", "{a: null}", "{$patch: delete, b: 1}", "[x]", "x", "'no'"]),
        directive,
    );
    fields.prop_map(|(a, b, c, d)| {
        format!("{{{}}}", [a, b, c, d].into_iter().flatten().collect::<Vec<_>>().join(", "))
    })
}

fn scalar() -> impl Strategy<Value = String> {
    prop::sample::select(&["a", "b", "c", "d", "'1'", "1", "''", "null"][..]).prop_map(str::to_owned)
}

fn elements(element: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    prop::collection::vec(element, 0..5).prop_map(|elements| format!("[{}]", elements.join(", ")))
}

fn patch(element: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    prop_oneof![1 => Just("same".to_owned()), 1 => Just("absent".to_owned()), 3 => elements(element)]
}

fn keys() -> impl Strategy<Value = Vec<String>> {
    let keys = [vec!["port"], vec!["protocol"], vec!["port", "protocol"], vec!["protocol", "port"]];
    prop::sample::select(keys.to_vec()).prop_map(|keys| keys.into_iter().map(str::to_owned).collect())
}

/// The result or the error of either way, for lists that are plain.
fn both_ways(target: &str, patch: &str, keys: &[String]) -> Option<[Result<String, String>; 2]> {
    let plan = Plan::of(&lists(target, patch), keys)?;
    let plain = MERGER().plain(lists(target, patch), &plan, &FIELD);
    let pairwise = MERGER().pairwise(lists(target, patch), keys, &FIELD);
    Some([plain, pairwise].map(|merged| merged.map(printed).map_err(|error| error.to_string())))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn plain_lists_merge_as_if_all_were_compared(target in elements(element()), patch in patch(element()), keys in keys()) {
        if let Some([plain, pairwise]) = both_ways(&target, &patch, &keys) {
            prop_assert_eq!(plain, pairwise);
        }
    }

    #[test]
    fn plain_lists_of_scalars_merge_as_if_all_were_compared(target in elements(scalar()), patch in patch(scalar())) {
        if let Some([plain, pairwise]) = both_ways(&target, &patch, &[String::new()]) {
            prop_assert_eq!(plain, pairwise);
        }
    }
}

/// Of 10,000 ports of a Service, or names of a list, each was compared with all others: a label alone took a minute.
#[test]
fn security_long_lists_take_one_look_at_each_element() {
    let ports: String = (1..=10_000).map(|port| format!("- {{port: {port}, protocol: TCP}}\n")).collect();
    let keys = ["port", "protocol"].map(str::to_owned);
    for patch in ["absent", "[{port: 9, protocol: TCP, $patch: delete}]"] {
        let merged = MERGER().elements(lists(&ports, patch), &keys, &FIELD).unwrap();
        assert_eq!(merged.len(), if patch == "absent" { 10_000 } else { 9_999 });
    }
    let names: String = (1..=10_000).map(|name| format!("- n{name}\n")).collect();
    assert_eq!(MERGER().elements(lists(&names, "[x]"), &[], &FIELD).unwrap().len(), 10_001);
}

/// Lists whose elements lack a key are compared pair by pair.
#[test]
fn security_long_lists_with_gaps_are_refused() {
    let ports: String = (1..=5_001).map(|port| format!("- {{port: {port}, protocol: TCP}}\n")).collect();
    let keys = ["port", "protocol"].map(str::to_owned);
    let error = MERGER().elements(lists(&(ports + "- port: 1"), "absent"), &keys, &FIELD).unwrap_err();
    assert_eq!(error.to_string(), "a list of 5002 elements is too long to be merged by keys (at most 5000)");
}
