//! Patterns, extract templates and ranges are tenants' text, tags are a registry's. A pattern that Go's syntax allows is one
//! for Rust's engine as well, unless it names a class that one of them does not know; what is chosen is one of the tags.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_policy::go_regex::{GoRegexError, compile};
use weir_policy::{Order, Policy, TagFilter, select};

fuzz_target!(|input: &str| {
    let mut parts = input.splitn(4, '\u{1f}');
    let [pattern, extract, range, tags] = std::array::from_fn(|_| parts.next().unwrap_or_default());
    if let Err(GoRegexError::Engine { message }) = compile(pattern) {
        assert!(pattern.contains("\\p") || pattern.contains("\\P"), "{message}");
    }
    let filter = TagFilter::new(pattern, extract).ok();
    let policies = [
        Some(Policy::Alphabetical(Order::Descending)),
        Some(Policy::Numerical(Order::Ascending)),
        Policy::semver(range).ok(),
    ];
    for policy in policies.into_iter().flatten() {
        if let Ok(chosen) = select(&policy, filter.as_ref(), tags.lines()) {
            assert!(tags.lines().any(|tag| tag == chosen));
        }
    }
});
