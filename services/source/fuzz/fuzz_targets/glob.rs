//! Patterns of ArtifactGenerators: any text is read or refused, any path is judged, and a text without signs fits itself alone.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_source_controller::glob::{Pattern, Syntax};

const SIGNS: [char; 8] = ['*', '?', '[', ']', '{', '}', '\\', ','];

fuzz_target!(|text: &str| {
    let (pattern, path) = text.split_once('\u{1f}').unwrap_or((text, text));
    for syntax in [Syntax::PathMatch, Syntax::Doublestar] {
        let read = Pattern::parse(pattern, syntax);
        let fits = read.as_ref().is_some_and(|read| read.matches(path));
        if read.is_some() && !pattern.contains(SIGNS) {
            assert_eq!(fits, pattern == path, "{syntax:?}");
        }
    }
    // As many directories as there may be stand between two names.
    let deep = Pattern::parse("a/**/b", Syntax::Doublestar).unwrap();
    assert!(deep.matches(&format!("a/{path}/b")));
});
