//! Tables of IP-9 to IP-12 and the algebra of selection.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use proptest::prelude::*;
use rstest::rstest;

use super::{Order, Policy, PolicyError, select};
use crate::TagFilter;

const ALPHABETICAL: Policy = Policy::Alphabetical(Order::Ascending);
const NUMERICAL: Policy = Policy::Numerical(Order::Ascending);

#[rstest]
#[case(&["1.0.0", "1.0.0-rc.1", "1.0.0-rc.2", "1.0.0-rc.3", "1.0.1-rc.2"], r"1.0.0-rc\.(?P<num>[0-9]+)", "$num", NUMERICAL, "1.0.0-rc.3")]
#[case(&["foo-aaa", "bar-bbb", "foo-zzz", "baz-nnn", "foo-ooo"], "foo-(?P<word>[a-z]+)", "$word", ALPHABETICAL, "foo-zzz")]
#[case(&["main-4f2a-1611906956", "main-99ab-1611906999", "dev-1-2"], "^main-[a-f0-9]+-(?P<ts>[0-9]+)", "${ts}", NUMERICAL, "main-99ab-1611906999")]
#[case(&["main-4f2a-1611906956", "main-99ab-1611906999"], "^(main)-[a-f0-9]+-([0-9]+)", "$2", NUMERICAL, "main-99ab-1611906999")]
#[case(&["6.2.1-alpine3.17", "6.0.9-alpine3.16", "7"], r"^(?P<v>[0-9]+\.[0-9]+\.[0-9]+)-alpine", "$v", Policy::semver(">=6.0.0").unwrap(), "6.2.1-alpine3.17")]
#[case(&["latest", "a", "b"], "^latest$", "", ALPHABETICAL, "latest")]
#[case(&["main-a", "main-b"], "^main-.*", "$nope", ALPHABETICAL, "main-a")]
#[case(&["a-1", "b-2"], "^([a-z])", "$1-z$$", ALPHABETICAL, "b-2")]
#[case(&["v1.2-alpine", "1.3"], r"^v(?P<v>[0-9.]+)-alpine$|^(?P<v>[0-9.]+)$", "$v", NUMERICAL, "1.3")]
fn the_original_tag_of_the_best_extract_is_chosen(
    #[case] tags: &[&str],
    #[case] pattern: &str,
    #[case] extract: &str,
    #[case] policy: Policy,
    #[case] chosen: &str,
) {
    let filter = TagFilter::new(pattern, extract).unwrap();
    assert_eq!(select(&policy, Some(&filter), tags.iter().copied()), Ok(chosen));
}

#[rstest]
#[case(&["16.04", "16.04.1", "16.10", "20.04", "20.10"], ALPHABETICAL, "20.10")]
#[case(&["16.04", "16.04.1", "16.10", "20.04", "20.10"], Policy::Alphabetical(Order::Descending), "16.04")]
#[case(&["2", "10", "9", "0.5", "1.5", "1e3"], NUMERICAL, "1e3")]
#[case(&["2", "10", "9", "0.5", "1.5", "1e3"], Policy::Numerical(Order::Descending), "0.5")]
#[case(&["1.0", "1", "1.00"], NUMERICAL, "1")]
fn orders_pick_their_end(#[case] tags: &[&str], #[case] policy: Policy, #[case] chosen: &str) {
    assert_eq!(select(&policy, None, tags.iter().copied()), Ok(chosen));
}

#[rstest]
#[case(&[], ALPHABETICAL, "version list argument cannot be empty")]
#[case(&["1.0.0"], Policy::semver("2.x").unwrap(), "unable to determine latest version from provided list")]
#[case(&["1", "a1"], NUMERICAL, "failed to parse invalid numeric value 'a1'")]
fn no_choice_says_why(#[case] tags: &[&str], #[case] policy: Policy, #[case] text: &str) {
    assert_eq!(select(&policy, None, tags.iter().copied()).unwrap_err().to_string(), text);
}

#[test]
fn a_bad_pattern_is_named_in_gos_words() {
    let error = PolicyError::from(TagFilter::new("a(", "$1").unwrap_err());
    assert_eq!(
        error.to_string(),
        "invalid regular expression pattern 'a(': error parsing regexp: missing closing ): `a(`"
    );
}

proptest! {
    #[test]
    fn the_order_of_listing_does_not_matter(
        (tags, shuffled) in prop::collection::vec("v?[0-9]{1,2}(\\.[0-9]{1,2}){0,3}(-rc\\.[1-9])?", 1..12)
            .prop_flat_map(|tags| (Just(tags.clone()), Just(tags).prop_shuffle())),
    ) {
        let filter = TagFilter::new("^v?([0-9]+)", "$1").unwrap();
        for policy in [Policy::semver(">=0.0.0-0").unwrap(), ALPHABETICAL, NUMERICAL, Policy::Numerical(Order::Descending)] {
            for filter in [None, Some(&filter)] {
                prop_assert_eq!(
                    select(&policy, filter, tags.iter().map(String::as_str)),
                    select(&policy, filter, shuffled.iter().map(String::as_str))
                );
            }
        }
    }

    #[test]
    fn the_choice_is_one_of_the_tags_and_no_tag_beats_it(tags in prop::collection::vec("[0-9]{1,6}", 1..12)) {
        let chosen = select(&NUMERICAL, None, tags.iter().map(String::as_str)).unwrap();
        prop_assert!(tags.iter().any(|tag| tag == chosen));
        let value = |tag: &str| tag.parse::<u64>().unwrap();
        prop_assert!(tags.iter().all(|tag| value(tag) <= value(chosen)));
    }
}
