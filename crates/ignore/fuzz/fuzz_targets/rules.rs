//! Ignore files come from repositories: any rules and any path, without a panic and in time that the fuzzer bears.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_ignore::Rules;

fuzz_target!(|input: &str| {
    let mut parts = input.splitn(3, '\u{1f}');
    let [root, below, path] = std::array::from_fn(|_| parts.next().unwrap_or_default());
    let (path, is_directory) = (path.trim_end_matches('/'), path.ends_with('/'));
    let mut rules = Rules::default();
    rules.read(root, &[]);
    rules.read(below, &["a"]);
    let matcher = rules.into_matcher();
    let _whole = matcher.excludes(path, is_directory);
    let _below = matcher.excludes(&format!("a/{path}"), is_directory);
});
