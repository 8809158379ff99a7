use rstest::rstest;

use super::{CompiledSelector, LabelSelector};
use crate::input::parse_one;
use crate::kustomization::Selector;
use crate::resource::Resource;
use crate::schema::Schema;

#[rstest]
#[case("a=1", true)]
#[case("a==1, b in (x,2)", true)]
#[case("a!=1", false)]
#[case("c!=1", true)]
#[case("a notin (2,3)", true)]
#[case("!c,a", true)]
#[case("c", false)]
#[case("b>1", true)]
#[case("", true)]
fn label_selectors_follow_the_grammar(#[case] text: &str, #[case] wanted: bool) {
    let get = |key: &str| match key {
        "a" => Some("1"),
        "b" => Some("2"),
        _ => None,
    };
    assert_eq!(LabelSelector::parse(text).unwrap().matches(get), wanted);
}

#[rstest]
#[case("a in (b")]
#[case("a b c")]
#[case("=x")]
#[case("a>x")]
fn broken_label_selectors_are_errors(#[case] text: &str) {
    assert!(LabelSelector::parse(text).is_err());
}

#[rstest]
#[case("Fo", "", "", false)]
#[case("Foo", "", "", true)]
#[case("", "a.*", "", true)]
#[case("", "^ab$", "", true)]
#[case("", "b", "", false)]
#[case("", "", "default", true)]
#[case("F.*", "", "team=x", false)]
fn targets_are_anchored(
    #[case] kind: &str,
    #[case] name: &str,
    #[case] namespace: &str,
    #[case] wanted: bool,
) {
    let (label_selector, namespace) = if namespace.contains('=') { (namespace, "") } else { ("", namespace) };
    let [kind, name, namespace, label_selector] = [kind, name, namespace, label_selector].map(str::to_owned);
    let selector = Selector { kind, name, namespace, label_selector, ..Selector::default() };
    let resource = Resource::new(parse_one("{apiVersion: v1, kind: Foo, metadata: {name: ab}}"));
    let compiled = CompiledSelector::new(&selector).unwrap();
    assert_eq!(compiled.matches_target(&resource, Schema::built_in()), wanted);
}
