use proptest::prelude::*;
use rstest::rstest;

use crate::{Matcher, Rules};

fn matcher(patterns: &str) -> Matcher {
    let mut rules = Rules::default();
    rules.read(patterns, &[]);
    rules.into_matcher()
}

/// A5, SRC-IGN-3, SRC-IGN-4.
#[rstest]
#[case::comment_line("# a.yaml", "a.yaml", false)]
#[case::anywhere("*.txt", "deep/down/a.txt", true)]
#[case::component_excludes_below("build", "a/build/x.yaml", true)]
#[case::anchored_to_root("/build", "a/build", false)]
#[case::anchored_by_inner_slash("a/build", "a/build/x", true)]
#[case::inner_slash_does_not_float("a/build", "b/a/build", false)]
#[case::directory_only_spares_files("build/", "build", false)]
#[case::directory_only_takes_contents("build/", "build/x", true)]
#[case::question_mark("?.yaml", "a.yaml", true)]
#[case::question_mark_one_only("?.yaml", "ab.yaml", false)]
#[case::class("[a-c].yaml", "b.yaml", true)]
#[case::negated_class("[^a].yaml", "a.yaml", false)]
#[case::exclamation_is_no_negation("[!a].yaml", "a.yaml", true)]
#[case::unclosed_class("[a.yaml", "[a.yaml", false)]
#[case::escaped_star("\\*.yaml", "a.yaml", false)]
#[case::leading_any_depth("**/x.yaml", "a/b/x.yaml", true)]
#[case::leading_any_depth_at_root("**/x.yaml", "x.yaml", true)]
#[case::trailing_any_depth("x/**", "x/a/b", true)]
#[case::trailing_any_depth_takes_a_file_of_the_name("x/**", "x", true)]
#[case::trailing_any_depth_spares_other_files("x/**", "y", false)]
#[case::any_depth_in_between_does_not("x/**/y", "x", false)]
#[case::middle_any_depth("a/**/b", "a/x/y/b", true)]
#[case::middle_any_depth_of_none("a/**/b", "a/b", true)]
#[case::mixed_any_depth_matches_nothing("a/b**", "a/bc", false)]
#[case::trailing_blanks("a.yaml   ", "a.yaml", true)]
#[case::carriage_return("a.yaml\r\nb.yaml\r\n", "a.yaml", true)]
#[case::last_match_wins("*.md\n!keep.md", "keep.md", false)]
#[case::order_matters("!keep.md\n*.md", "keep.md", true)]
#[case::reincluded_below_excluded("/*\n!/deploy", "deploy/sub/k.yaml", false)]
#[case::idiom_excludes_the_rest("/*\n!/deploy", "docs/k.yaml", true)]
fn files(#[case] patterns: &str, #[case] path: &str, #[case] excluded: bool) {
    assert_eq!(matcher(patterns).excludes(path, false), excluded);
}

#[test]
fn any_depth_at_the_end_takes_the_directory_entry_too() {
    // SRC-IGN-5
    assert!(matcher("x/**").excludes("x", true));
}

#[rstest]
#[case(".git/config", true)]
#[case("a/.gitignore", true)]
#[case("pic.png", true)]
#[case("a.tar.gz", true)]
#[case(".github/workflows/a.yml", true)]
#[case("sub/.sops.yaml", true)]
#[case("a.yaml", false)]
#[case(".hidden", false)]
#[case("", false)]
fn defaults_without_patterns(#[case] path: &str, #[case] excluded: bool) {
    assert_eq!(matcher("# nothing\n\n").excludes(path, false), excluded);
}

#[test]
fn one_pattern_leaves_only_version_control_excluded() {
    let matcher = matcher("*.txt");
    assert!(matcher.excludes(".git/config", false));
    assert!(!matcher.excludes("pic.png", false));
    assert!(!matcher.excludes(".github/w.yml", false));
}

#[test]
fn patterns_of_a_directory_hold_only_there() {
    let mut rules = Rules::default();
    rules.read("/sub\n!k.yaml", &["deploy"]);
    rules.read("!l.yaml", &["deploy", "sub"]);
    let matcher = rules.into_matcher();
    assert!(matcher.excludes("deploy/sub/other.yaml", false));
    assert!(!matcher.excludes("deploy/sub/l.yaml", false));
    assert!(!matcher.excludes("other/sub/l.yaml", false));
    assert!(!matcher.excludes("deploy", true));
}

/// Of files from Windows.
#[test]
fn half_a_line_break_at_the_end_is_none() {
    let matcher = matcher("a\r\nb\r");
    assert!(matcher.excludes("a", false) && matcher.excludes("b", false));
}

#[test]
fn nothing_beyond_the_caps_is_read() {
    let mut long = "#".repeat(crate::MAX_IGNORE_BYTES - "\na\n*".len());
    long.push_str("\na\n*.tmp\n");
    assert!(matcher(&long).excludes("a", false));
    assert!(!matcher(&long).excludes("late.yaml", false), "half a pattern is none");
    let mut rules = Rules::default();
    rules.read(&long, &[]);
    assert!(rules.is_cut());
    let mut rules = Rules::default();
    for directory in ["a", "b"] {
        rules.read(&"x\n".repeat(crate::MAX_PATTERNS / 2 - 1), &[directory]);
    }
    assert!(!rules.is_cut());
    rules.read("# none\n\nlast.yaml\nother.yaml\nlate.yaml\n", &[]);
    assert!(rules.is_cut());
    let matcher = rules.into_matcher();
    let excluded = ["last.yaml", "other.yaml", "late.yaml"].map(|path| matcher.excludes(path, false));
    assert_eq!(excluded, [true, true, false]);
}

/// Components and patterns of a small alphabet, so that matches are frequent.
fn component() -> impl Strategy<Value = String> {
    prop::collection::vec(prop_oneof![Just('a'), Just('b'), Just('c')], 1..3)
        .prop_map(|c| c.into_iter().collect())
}

fn positive_pattern() -> impl Strategy<Value = String> {
    let part = prop_oneof![component(), Just("*".to_owned()), Just("a*".to_owned()), Just("?b".to_owned())];
    (any::<bool>(), prop::collection::vec(part, 1..3), any::<bool>()).prop_map(|(root, parts, directory)| {
        format!("{}{}{}", if root { "/" } else { "" }, parts.join("/"), if directory { "/" } else { "" })
    })
}

proptest! {
    /// Without `!` and `**` the rules are those of gitignore, for which the `ignore` crate is the oracle.
    #[test]
    fn agrees_with_gitignore(
        patterns in prop::collection::vec(positive_pattern(), 1..4),
        path in prop::collection::vec(component(), 1..4),
        is_directory: bool,
    ) {
        let path = path.join("/");
        let mut oracle = ignore::gitignore::GitignoreBuilder::new("");
        for pattern in &patterns {
            oracle.add_line(None, pattern).unwrap();
        }
        let oracle = oracle.build().unwrap();
        let prefixes = path.match_indices('/').map(|(end, _)| (&path[..end], true));
        let expected = prefixes.chain([(path.as_str(), is_directory)]).any(|(prefix, directory)| oracle.matched(prefix, directory).is_ignore());
        prop_assert_eq!(matcher(&patterns.join("\n")).excludes(&path, is_directory), expected, "{:?} {}", patterns, path);
    }

    #[test]
    fn never_panics(patterns in "\\PC{0,40}", path in "\\PC{0,40}", is_directory: bool) {
        let _ = matcher(&patterns).excludes(&path, is_directory);
    }
}
