//! Tables of IP-7, IP-8 and DEP 9, and the algebra of precedence.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use proptest::prelude::*;
use rstest::rstest;

use super::{Constraint, SemverError, Version, latest};

const TAGS: [&str; 16] = [
    "0.9.0",
    "v1.0.0",
    "1.0.1",
    "1.0.2-rc.1",
    "1.1.0",
    "1.2.0-alpha",
    "1.2",
    "v2",
    "2.0.0-rc.1",
    "2.0.0",
    "2.1.0-0",
    "2024.01.05",
    "latest",
    "1.0.0.1",
    "11.1.0",
    "12.0.0",
];

#[rstest]
#[case("1.0.x", "1.0.1")]
#[case("^1.0", "1.1.0")]
#[case("1", "1.1.0")]
#[case("v1.x", "1.1.0")]
#[case(">0,<2.0", "1.1.0")]
#[case("=1.0.0", "v1.0.0")]
#[case("~1.0", "1.0.1")]
#[case(">=1.0", "2024.01.05")]
#[case("*", "2024.01.05")]
#[case(">=1.0.0-0", "2024.01.05")]
#[case(">11", "2024.01.05")]
#[case("^0.9", "0.9.0")]
#[case("^1.x-0", "1.2.0-alpha")]
#[case(">1.0.0-rc <2.0.0-rc", "1.2.0-alpha")]
#[case(">= 2.0.0-0 < 2.1.0", "2.1.0-0")]
#[case("1.2 - 2.0.0", "2.0.0")]
#[case("<=11", "11.1.0")]
#[case(">=1.0.0, !=1.1.0 , <2", "1.0.1")]
#[case("<1 || =>11 =<11.9", "11.1.0")]
#[case("~>1.0", "1.0.1")]
fn a_range_picks_the_highest_tag_inside(#[case] range: &str, #[case] tag: &str) {
    assert_eq!(latest(&Constraint::parse(range).unwrap(), TAGS), Some(tag));
}

#[rstest]
#[case("1.0.0p", r#"improper constraint: "1.0.0p""#)]
#[case("not a range", r#"improper constraint: "not a range""#)]
#[case("-1", r#"improper constraint: "-1""#)]
#[case("a", r#"improper constraint: "a""#)]
#[case("", r#"improper constraint: """#)]
#[case("*-*", r#"improper constraint: "*-*""#)]
#[case("1 || ", r#"improper constraint: " ""#)]
#[case("1x", "constraint parser error")]
#[case("x1", "constraint parser error")]
fn a_bad_range_is_refused_with_the_known_text(#[case] range: &str, #[case] text: &str) {
    assert_eq!(Constraint::parse(range).unwrap_err().to_string(), text);
}

#[test]
fn ranges_are_bounded_in_length_and_alternatives() {
    assert_eq!(Constraint::parse(&"1".repeat(513)), Err(SemverError::ConstraintTooLong));
    assert_eq!(Constraint::parse(&["1"; 33].join("||")), Err(SemverError::TooManyGroups));
}

#[rstest]
#[case("!=1.x", "1.5.0", false)]
#[case("!=1.2.x", "1.3.0", true)]
#[case("!=1.2.x", "1.2.3", false)]
#[case(">11.1", "11.1.9", false)]
#[case(">11.1", "11.2.0", true)]
#[case("<=1.2", "1.2.9", true)]
#[case("<=1.2", "1.3.0", false)]
#[case("^0.2.3", "0.3.0", false)]
#[case("^0.0.3", "0.0.4", false)]
#[case("^0.0", "0.0.9", true)]
#[case("^0", "0.9.9", true)]
#[case("~*", "7.0.0", true)]
#[case("1.2.3", "1.9.9", false)]
#[case(">=1.0.0-0", "1.3.0-rc.1", true)]
#[case(">=1.0.0", "1.3.0-rc.1", false)]
fn terms_hold_at_their_edges(#[case] range: &str, #[case] version: &str, #[case] holds: bool) {
    assert_eq!(Constraint::parse(range).unwrap().matches(&version.parse().unwrap()), holds);
}

#[rstest]
#[case("v1.2.3")]
#[case("1.2")]
#[case("01.2.3")]
#[case("2025.02.03")]
#[case("1.2.3-rc.1+build.05")]
fn sloppy_versions_are_read(#[case] text: &str) {
    assert!(Version::parse(text).is_ok());
}

#[rstest]
#[case("1.0.0.1", SemverError::InvalidVersion)]
#[case("1.2.3-", SemverError::InvalidVersion)]
#[case("1.2.3-a..b", SemverError::InvalidVersion)]
#[case("1.2.3-01", SemverError::SegmentStartsZero)]
#[case("99999999999999999999.0.0", SemverError::SegmentOutOfRange { segment: "99999999999999999999".into() })]
fn texts_that_are_no_versions_are_refused(#[case] text: &str, #[case] error: SemverError) {
    assert_eq!(Version::parse(text), Err(error));
}

#[test]
fn precedence_follows_the_standard() {
    let ordered = [
        "1.0.0-1",
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-alpha.beta",
        "1.0.0-beta",
        "1.0.0-beta.2",
        "1.0.0-beta.11",
        "1.0.0-rc.1",
        "1.0.0",
        "1.0.1",
    ];
    let versions: Vec<Version> = ordered.iter().map(|text| text.parse().unwrap()).collect();
    assert!(versions.is_sorted_by(|a, b| a < b));
    assert_eq!(Version::parse("1.0.0+a"), Version::parse("v1.0.0+b"));
}

#[test]
fn the_first_of_equal_versions_is_kept_as_written() {
    assert_eq!(latest(&Constraint::parse("1.x").unwrap(), ["v1.2.3", "1.2.3"]), Some("v1.2.3"));
}

fn version_text() -> impl Strategy<Value = String> {
    "v?[0-9]{1,3}(\\.[0-9]{1,3}){0,2}(-[a-z1-9]{1,3}(\\.[a-z1-9]{1,3}){0,2})?(\\+[a-z0-9]{1,3})?"
}

proptest! {
    #[test]
    fn parsing_never_panics(text in "\\PC{0,40}") {
        let _ = Version::parse(&text);
        let _ = Constraint::parse(&text);
    }

    #[test]
    fn order_is_total(a in version_text(), b in version_text(), c in version_text()) {
        let (a, b, c): (Version, Version, Version) = (a.parse().unwrap(), b.parse().unwrap(), c.parse().unwrap());
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        prop_assert_eq!(a.cmp(&b).is_eq(), a == b);
        if a <= b && b <= c {
            prop_assert!(a <= c);
        }
    }

    #[test]
    fn terms_agree_with_order(a in "[0-9]{1,2}\\.[0-9]{1,2}\\.[0-9]{1,2}", b in "[0-9]{1,2}\\.[0-9]{1,2}\\.[0-9]{1,2}") {
        let (left, right): (Version, Version) = (a.parse().unwrap(), b.parse().unwrap());
        let holds = |operator: &str| Constraint::parse(&format!("{operator}{b}")).unwrap().matches(&left);
        prop_assert_eq!(holds(">="), left >= right);
        prop_assert_eq!(holds(">"), left > right);
        prop_assert_eq!(holds("<="), left <= right);
        prop_assert_eq!(holds("<"), left < right);
        prop_assert_eq!(holds("="), left == right);
        prop_assert_eq!(holds("!="), left != right);
    }
}
