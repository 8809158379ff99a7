//! The golden cases of the setters' specification (5.6), and that nothing but the value changes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use proptest::prelude::*;
use rstest::rstest;

use super::{SetterError, edit, idle};
use crate::{Image, MAX_NODES, ObjectId, PolicyName, Setters};

fn setters() -> Setters {
    let digest = format!("sha256:{}", "d".repeat(64));
    let mut setters = Setters::default();
    for (policy, name, tag, digest) in [
        ("app", "ghcr.io/o/app", "2.0.0", None),
        ("dig", "ghcr.io/o/dig", "1.5", Some(digest)),
        ("num", "r/num", "20240101", None),
        ("sha", "r/sha", "1234567e8", None),
        ("yes", "r/yes", "yes", None),
        ("day", "r/day", "2024-01-01", None),
    ] {
        let policy = PolicyName { namespace: "ns".into(), name: policy.into() };
        setters.insert(policy, Image { name: name.into(), tag: tag.into(), digest });
    }
    setters
}

/// Writes `⟨x⟩` for a marker and `@D` for the digest.
fn expand(text: &str) -> String {
    let mut out = text.replace("@D", &format!("@sha256:{}", "d".repeat(64)));
    out = out.replace("sha256:D", &format!("sha256:{}", "d".repeat(64)));
    while let Some((before, rest)) = out.split_once('⟨') {
        let (setter, after) = rest.split_once('⟩').unwrap();
        out = format!("{before}# {{\"$imagepolicy\": \"ns:{setter}\"}}{after}");
    }
    out
}

fn edited(text: &str) -> Option<String> {
    edit(&expand(text), &setters()).unwrap().map(|edited| edited.text)
}

#[rstest]
#[case::full("image: old/app:1 ⟨app⟩", "image: ghcr.io/o/app:2.0.0 ⟨app⟩")]
#[case::tag("tag: v1 ⟨app:tag⟩", "tag: 2.0.0 ⟨app:tag⟩")]
#[case::name("newName: x ⟨app:name⟩", "newName: ghcr.io/o/app ⟨app:name⟩")]
#[case::with_digest("image: dig ⟨dig⟩", "image: ghcr.io/o/dig:1.5@D ⟨dig⟩")]
#[case::digest("newDigest: sha256:0 ⟨dig:digest⟩", "newDigest: sha256:D ⟨dig:digest⟩")]
#[case::no_digest("digest: sha256:0 ⟨app:digest⟩", "digest: \"\" ⟨app:digest⟩")]
#[case::single_quoted("t: 'v1' ⟨app:tag⟩", "t: '2.0.0' ⟨app:tag⟩")]
#[case::double_quoted("t: \"v1\" ⟨num:tag⟩", "t: \"20240101\" ⟨num:tag⟩")]
#[case::number("t: v1 ⟨num:tag⟩", "t: \"20240101\" ⟨num:tag⟩")]
#[case::old_number("t: 20230101 ⟨num:tag⟩", "t: \"20240101\" ⟨num:tag⟩")]
#[case::float("t: 1.4 ⟨dig:tag⟩", "t: \"1.5\" ⟨dig:tag⟩")]
#[case::old_float("t: 1.4 ⟨app:tag⟩", "t: 2.0.0 ⟨app:tag⟩")]
#[case::old_boolean("t: true ⟨app:tag⟩", "t: 2.0.0 ⟨app:tag⟩")]
#[case::exponent("t: abc ⟨sha:tag⟩", "t: \"1234567e8\" ⟨sha:tag⟩")]
#[case::boolean_word("t: abc ⟨yes:tag⟩", "t: \"yes\" ⟨yes:tag⟩")]
#[case::date("t: abc ⟨day:tag⟩", "t: \"2024-01-01\" ⟨day:tag⟩")]
#[case::empty_quotes("t: \"\" ⟨app:tag⟩", "t: \"2.0.0\" ⟨app:tag⟩")]
#[case::null("t: ~ ⟨app:tag⟩", "t: 2.0.0 ⟨app:tag⟩")]
#[case::alignment("image:   old:1   ⟨app⟩", "image:   ghcr.io/o/app:2.0.0   ⟨app⟩")]
#[case::tight("a: o #{\"$imagepolicy\":\"ns:app\"}", "a: ghcr.io/o/app:2.0.0 #{\"$imagepolicy\":\"ns:app\"}")]
#[case::two_signs(
    "a: o ## {\"$imagepolicy\": \"ns:app\"}",
    "a: ghcr.io/o/app:2.0.0 ## {\"$imagepolicy\": \"ns:app\"}"
)]
#[case::above_an_item("⟨app⟩\n- old:1\n", "⟨app⟩\n- ghcr.io/o/app:2.0.0\n")]
#[case::above_with_blank("- a\n⟨app⟩\n\n- old:1\n", "- a\n⟨app⟩\n\n- ghcr.io/o/app:2.0.0\n")]
#[case::after_a_dash("- ⟨app⟩\n  old:1\n", "- ⟨app⟩\n  ghcr.io/o/app:2.0.0\n")]
#[case::between_key_and_value("image:\n  ⟨app⟩\n  old:1\n", "image:\n  ⟨app⟩\n  ghcr.io/o/app:2.0.0\n")]
#[case::own_line("image:\n  old:1 ⟨app⟩", "image:\n  ghcr.io/o/app:2.0.0 ⟨app⟩")]
#[case::flow_mapping(
    "c: {\n  image: old, ⟨app:name⟩\n  tag: v1 ⟨app:tag⟩\n}\n",
    "c: {\n  image: ghcr.io/o/app, ⟨app:name⟩\n  tag: 2.0.0 ⟨app:tag⟩\n}\n"
)]
#[case::flow_sequence("a: [\"x:1\", ⟨app⟩\n \"y:1\"]\n", "a: [\"ghcr.io/o/app:2.0.0\", ⟨app⟩\n \"y:1\"]\n")]
#[case::literal("a: | ⟨app⟩\n  old:1\n", "a: |- ⟨app⟩\n  ghcr.io/o/app:2.0.0\n")]
#[case::folded("a: >2+ ⟨app⟩\n\n   old\n  more\n\nb: 1\n", "a: >2- ⟨app⟩\n  ghcr.io/o/app:2.0.0\n\nb: 1\n")]
#[case::several_lines("a: \"multi\n  line\" ⟨app⟩\n", "a: \"ghcr.io/o/app:2.0.0\" ⟨app⟩\n")]
#[case::anchor("m: &anc old ⟨app⟩\nn: *anc ⟨app⟩\n", "m: &anc ghcr.io/o/app:2.0.0 ⟨app⟩\nn: *anc ⟨app⟩\n")]
#[case::alias_as_key(
    "m: &a-1 x\n*a-1: old ⟨app⟩\nn:\n  *a-1:\n    image: old ⟨app⟩\n  *a-1: old ⟨app⟩\n",
    "m: &a-1 x\n*a-1: ghcr.io/o/app:2.0.0 ⟨app⟩\nn:\n  *a-1:\n    image: ghcr.io/o/app:2.0.0 ⟨app⟩\n  *a-1: ghcr.io/o/app:2.0.0 ⟨app⟩\n"
)]
#[case::quoted_without_indentation(
    "a:\n- 'it''s\n\nx'\n- \"\\\"y\\\n\n\tz\" # é\nimage: old ⟨app⟩\n",
    "a:\n- 'it''s\n\nx'\n- \"\\\"y\\\n\n\tz\" # é\nimage: ghcr.io/o/app:2.0.0 ⟨app⟩\n"
)]
#[case::argument("- --image=old:1 ⟨app⟩", "- ghcr.io/o/app:2.0.0 ⟨app⟩")]
#[case::string_tag("tag: !!str v1 ⟨num:tag⟩", "tag: !!str 20240101 ⟨num:tag⟩")]
#[case::other_tag("tag: !!int 5 ⟨app:tag⟩", "tag: 2.0.0 ⟨app:tag⟩")]
#[case::anchor_and_tag("tag: &x !!int 5 ⟨app:tag⟩", "tag: &x 2.0.0 ⟨app:tag⟩")]
#[case::layout(
    "\u{feff}---\r\n# c\r\n\r\nkind:  X\r\nspec:\r\n      - a:   old   ⟨app⟩\r\n\r\n# end",
    "\u{feff}---\r\n# c\r\n\r\nkind:  X\r\nspec:\r\n      - a:   ghcr.io/o/app:2.0.0   ⟨app⟩\r\n\r\n# end"
)]
#[case::documents(
    "# only\n---\n# x\n---\na: o ⟨app⟩\n...\n",
    "# only\n---\n# x\n---\na: ghcr.io/o/app:2.0.0 ⟨app⟩\n...\n"
)]
#[case::json(
    "{\"a\": \"old\", ⟨app⟩\n \"b\": \"x\"}\n",
    "{\"a\": \"ghcr.io/o/app:2.0.0\", ⟨app⟩\n \"b\": \"x\"}\n"
)]
#[case::duplicate_keys("a: o ⟨app:tag⟩\na: o ⟨app:tag⟩\n", "a: 2.0.0 ⟨app:tag⟩\na: 2.0.0 ⟨app:tag⟩\n")]
#[case::same_number_other_text("t: \"1.50\" ⟨dig:tag⟩", "t: \"1.5\" ⟨dig:tag⟩")]
fn only_the_marked_value_changes(#[case] before: &str, #[case] after: &str) {
    let after = expand(after);
    assert_eq!(edited(before).as_deref(), Some(after.as_str()));
    assert_eq!(edit(&after, &setters()), Ok(None), "a second run changes nothing");
}

#[rstest]
#[case::empty_value("t: ⟨app:tag⟩")]
#[case::prose_after("a: o ⟨app⟩ note")]
#[case::prose_before("a: o # note {\"$imagepolicy\": \"ns:app\"}")]
#[case::not_strings("a: o # {\"$imagepolicy\": \"ns:app\", \"x\": 1}")]
#[case::unknown_policy("a: o ⟨none⟩")]
#[case::unknown_part("a: o ⟨app:foo⟩")]
#[case::other_case("a: o # {\"$imagepolicy\": \"NS:app\"}")]
#[case::other_namespace("a: o # {\"$imagepolicy\": \"other:app\"}")]
#[case::above_a_key("⟨app⟩\nimage: old:1")]
#[case::above_two("# note\n⟨app⟩\n- old:1")]
#[case::after_a_key("image: ⟨app⟩\n  old:1")]
#[case::after_a_mapping("a: {image: old, tag: v1} ⟨app⟩")]
#[case::after_a_sequence("a: [old] ⟨app⟩")]
#[case::key_of_a_mapping("a: ⟨app⟩\n  b: c")]
#[case::inside_a_block("c: |\n  image: old ⟨app⟩\n")]
#[case::above_in_a_block("c: |\n  ⟨app⟩\nd:\n- x\n")]
#[case::same_value("a: 2.0.0 ⟨app:tag⟩")]
#[case::alias("m: &a x\nn: *a ⟨app⟩")]
fn these_are_no_markers(#[case] text: &str) {
    assert_eq!(edited(text), None);
}

/// ST-8: the answer to those who ask why nothing happens.
#[rstest]
#[case("a: o ⟨app⟩\nb: o ⟨app:tag⟩", &[])]
#[case("a: o ⟨none⟩\nb: o ⟨app⟩\nc: o ⟨app:foo⟩", &["ns:none", "ns:app:foo"])]
#[case("⟨none⟩\na: ⟨none⟩\n  b: c", &[])]
#[case("{{ if .x }}\na: o ⟨none⟩\n{{ end }}", &[])]
#[case("a: o", &[])]
fn markers_without_a_value(#[case] text: &str, #[case] expected: &[&str]) {
    assert_eq!(idle(&expand(text), &setters()), expected);
}

#[test]
fn a_template_is_a_problem_and_not_an_edit() {
    let error = edit(&expand("{{ if .x }}\na: o ⟨app⟩\n{{ end }}\n"), &setters()).unwrap_err();
    assert!(matches!(error, SetterError::Yaml { .. }), "{error}");
}

#[rstest]
#[case::unknown_name("m: &ab x\n*a: o ⟨app⟩\n")]
#[case::value("m: &a x\nb: *a:\n⟨app⟩\n")]
#[case::open_quote("a:\n- 'x\ny\nimage: o ⟨app⟩\n")]
#[case::document_in_quotes("a:\n- 'x\n---\ny'\nimage: o ⟨app⟩\n")]
fn what_go_yaml_does_not_read_is_a_problem(#[case] text: &str) {
    assert!(matches!(edit(&expand(text), &setters()), Err(SetterError::Yaml { .. })));
}

#[test]
fn deep_nesting_is_a_problem() {
    let deep = format!("a: {}{}\nb: o {}\n", "[".repeat(200), "]".repeat(200), expand("⟨app⟩"));
    assert!(matches!(edit(&deep, &setters()), Err(SetterError::Yaml { .. })));
}

/// A line with very many values, of which a comment marks the last one, takes time by its length.
#[rstest]
#[case::values("[\"\",", "\"x\",", "\"old\"] # note\n")]
#[case::behind_blanks(&format!("{}[", " ".repeat(1 << 20)), "1,", "1] # note\n")]
#[case::tags("[", "!a 1,", "1] # note\n")]
#[case::below_a_long_key(&format!("? {}\n: [", "x".repeat(1 << 20)), "1,", "1] # note\n")]
fn a_line_takes_time_by_its_length(#[case] start: &str, #[case] value: &str, #[case] end: &str) {
    let text = format!("{start}{}{end}", value.repeat(400_000));
    let marked = format!("---\n{text}---\nimage: old:1 {}\n", expand("⟨app⟩"));
    let started = std::time::Instant::now();
    let edited = edit(&marked, &setters()).unwrap().unwrap();
    assert!(edited.text.contains("ghcr.io/o/app:2.0.0"));
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

/// SEC-7.
#[rstest]
#[case::values(format!("[{}1]\n", "1,".repeat(MAX_NODES)))]
#[case::comments("a: 1\n#\n".repeat(MAX_NODES / 2))]
fn too_many_values_and_comments_are_a_problem(#[case] text: String) {
    let text = format!("{text}---\na: o {}\n", expand("⟨app⟩"));
    assert_eq!(edit(&text, &setters()), Err(SetterError::TooManyNodes));
}

fn identities(text: &str) -> Vec<ObjectId> {
    let edited = edit(&expand(text), &setters()).unwrap().unwrap();
    edited.changes.into_iter().map(|(object, _)| object).collect()
}

fn id(api_version: &str, kind: &str, name: &str, namespace: &str) -> ObjectId {
    ObjectId {
        api_version: api_version.into(),
        kind: kind.into(),
        name: name.into(),
        namespace: namespace.into(),
    }
}

#[test]
fn a_change_names_its_object() {
    let text = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: shop\nspec:\n  kind: X\n  \
                containers:\n  - name: c\n    image: old ⟨app⟩\n---\nimages:\n- newTag: o ⟨app:tag⟩\nkind: Kustomization\n";
    assert_eq!(
        identities(text),
        [id("apps/v1", "Deployment", "web", "shop"), id("", "Kustomization", "", "")]
    );
}

#[test]
fn an_alias_names_an_object() {
    let long = "x".repeat(254);
    let text = format!(
        "metadata:\n  name: &app web\n  namespace: *app\nlong: &long {long}\nkind: *long\nimage: o ⟨app⟩\n"
    );
    assert_eq!(identities(&text), [id("", "", "web", "web")]);
}

#[test]
fn an_item_of_a_list_is_the_object() {
    let text = "kind: List\nitems:\n- kind: A\n  metadata: {name: a}\n  image: o ⟨app⟩\n- kind: B\n  image: o ⟨app⟩\n";
    assert_eq!(identities(text), [id("", "A", "a", ""), id("", "B", "", "")]);
    assert_eq!(identities("- kind: A\n  image: o ⟨app⟩\n"), [id("", "A", "", "")]);
    assert_eq!(identities("kind: X\nitems:\n- kind: A\n  image: o ⟨app⟩\n"), [id("", "X", "", "")]);
}

#[test]
fn old_and_new_values_are_decoded_text() {
    let edited = edit(&expand("a: 'it''s' ⟨app:tag⟩\n"), &setters()).unwrap().unwrap();
    let (_, change) = &edited.changes[0];
    assert_eq!(
        (change.old.as_str(), change.new.as_str(), change.setter.as_str()),
        ("it's", "2.0.0", "ns:app:tag")
    );
}

/// Lines of a manifest, marked and not, in many layouts.
fn manifest() -> impl Strategy<Value = String> {
    let value =
        prop::sample::select(vec!["old:1", "'old:1'", "\"o\\u00e9\"", "1.4", "~", "&a x", "!!int 5", "true"]);
    let setter = prop::sample::select(vec!["⟨app⟩", "⟨dig:digest⟩", "⟨num:tag⟩", "# note", "", "⟨none⟩"]);
    let blanks = "[ ]{1,3}";
    let line = (value, blanks, setter).prop_map(|(value, blanks, setter)| format!("{value}{blanks}{setter}"));
    prop::collection::vec((line, 0..4_usize), 1..8).prop_map(|lines| {
        let mut out = String::from("kind:  X\n\n");
        for (index, (line, form)) in lines.into_iter().enumerate() {
            out.push_str(&match form {
                0 => format!("k{index}:  {line}\n"),
                1 => format!("k{index}:\n    -   {line}\n    - y\n"),
                2 => format!("k{index}: {{\n a: {line}\n}}\n# tail\n"),
                _ => format!("---\nk{index}:\n  sub: {line}\n\n"),
            });
        }
        out
    })
}

proptest! {
    #[test]
    fn editing_twice_is_editing_once(text in manifest()) {
        let text = expand(&text);
        if let Ok(Some(first)) = edit(&text, &setters()) {
            prop_assert_eq!(edit(&first.text, &setters()), Ok(None));
        }
    }

    #[test]
    fn lines_without_a_known_marker_are_kept(text in manifest()) {
        let text = expand(&text);
        let edited = edit(&text, &setters()).unwrap();
        let after = edited.as_ref().map_or(text.as_str(), |edited| edited.text.as_str());
        prop_assert_eq!(text.lines().count(), after.lines().count());
        let mut changed = 0;
        for (old, new) in text.lines().zip(after.lines()) {
            let is_marked = ["ns:app", "ns:dig", "ns:num"].iter().any(|setter| old.contains(setter));
            prop_assert!(is_marked || old == new);
            let (comment_of_old, comment_of_new) = (old.split_once('#'), new.split_once('#'));
            prop_assert_eq!(comment_of_old.map(|(_, c)| c), comment_of_new.map(|(_, c)| c));
            changed += usize::from(old != new);
        }
        prop_assert_eq!(changed, edited.map_or(0, |edited| edited.changes.len()));
    }

    #[test]
    fn any_text_is_edited_or_refused(text in "[ -~\\n\u{e9}]{0,80}") {
        let _ = edit(&format!("{text}\na: o {}", expand("⟨app⟩")), &setters());
    }
}
