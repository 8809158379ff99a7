//! Ignore files come from repositories: any rules and any path, without a panic and in time that the fuzzer bears.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_ignore::Rules;

fuzz_target!(|input: (&str, &str, &str, bool)| {
    let (root, below, path, is_directory) = input;
    let mut rules = Rules::default();
    rules.read(root, &[]);
    rules.read(below, &["a"]);
    let matcher = rules.into_matcher();
    let _whole = matcher.excludes(path, is_directory);
    let _below = matcher.excludes(&format!("a/{path}"), is_directory);
});
