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
#[case("a in (in,,1),b in (,2)", true)]
#[case("b in (),a", false)]
#[case("c notin ()", true)]
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
#[case("a in (b", "unable to parse requirement: found '', expected: ',' or ')'")]
#[case("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'")]
#[case("a in b", "unable to parse requirement: found 'b' expected: '('")]
#[case("a b c", "unable to parse requirement: found 'b', expected: '=', '!=', '==', 'in', notin'")]
#[case("=x", "found '=', expected: !, identifier, or 'end of string'")]
#[case("a>x", "unable to parse requirement: for 'Gt', 'Lt' operators, the value must be an integer")]
#[case("a=b=c", "found '=', expected: ',' or 'end of string'")]
#[case("!a=b", "found '=', expected: ',' or 'end of string'")]
#[case("a,,b", "found ',', expected: identifier after ','")]
#[case("!", "unable to parse requirement: found '', expected: identifier")]
#[case(
    "a=b_",
    "unable to parse requirement: invalid label value: \"b_\": at key: \"a\": a valid label must be an empty"
)]
#[case(
    "a notin (x,$)",
    "unable to parse requirement: invalid label value: \"$\": at key: \"a\": a valid label must be"
)]
#[case(
    "-a=b",
    "unable to parse requirement: invalid label key \"-a\": name part must consist of alphanumeric"
)]
#[case(
    "a/b/c",
    "unable to parse requirement: invalid label key \"a/b/c\": a qualified name must consist of alphanum"
)]
#[case(
    "A_b/c=d",
    "unable to parse requirement: invalid label key \"A_b/c\": prefix part a DNS-1123 subdomain must"
)]
#[case("/c", "unable to parse requirement: invalid label key \"/c\": prefix part must be non-empty")]
fn broken_label_selectors_are_errors(#[case] text: &str, #[case] wanted: &str) {
    let error = LabelSelector::parse(text).unwrap_err().to_string();
    assert!(error.starts_with(wanted), "{error}");
}

#[test]
fn labels_are_no_longer_than_in_kubernetes() {
    let (fits, long) = ("a".repeat(63), "a".repeat(64));
    assert!(LabelSelector::parse(&format!("b={fits},{fits}=b")).is_ok());
    for selector in [format!("b={long}"), format!("b in ({long})"), format!("c/{long}")] {
        let error = LabelSelector::parse(&selector).unwrap_err().to_string();
        assert!(error.ends_with("must be no more than 63 characters"), "{error}");
    }
}

#[test]
fn label_selectors_are_read_when_a_resource_is_held_against_them() {
    let selector = |kind: &str| Selector {
        kind: kind.to_owned(),
        label_selector: "a=b=c".to_owned(),
        ..Selector::default()
    };
    let resource = Resource::new(parse_one("{apiVersion: v1, kind: Foo, metadata: {name: ab}}"));
    let matches = |kind| {
        let compiled = CompiledSelector::of_build(&selector(kind)).unwrap();
        compiled.matches_target(&resource, Schema::built_in())
    };
    assert!(!matches("Bar").unwrap());
    assert!(matches("Foo").is_err());
    assert!(CompiledSelector::new(&selector("Bar")).is_err());
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
    assert_eq!(compiled.matches_target(&resource, Schema::built_in()).unwrap(), wanted);
}
