use std::collections::HashSet;

use rstest::rstest;
use weir_yaml::{Scalar, Tag};

use super::Values;
use super::expand::expand;

#[rstest]
#[case("$(V)", "5", Tag::Int)]
#[case("a-$(V)", "a-5", Tag::Str)]
#[case("x$(V)$$(V)$(W)$", "x5$(V)$(W)$", Tag::Str)]
#[case("$(V", "$(V", Tag::Str)]
#[case("$x $", "$x $", Tag::Str)]
fn references_are_replaced(#[case] text: &str, #[case] wanted: &str, #[case] tag: Tag) {
    let values: Values = [("V".to_owned(), Some(Scalar::tagged("5", Tag::Int)))].into();
    let expanded = expand(text, &values, &mut HashSet::new());
    assert_eq!((expanded.text.as_str(), expanded.tag), (wanted, tag));
}
