use rstest::rstest;

use super::*;

fn parsed(text: &str) -> Vec<(String, String, String)> {
    let modules = parse_modules(text).unwrap();
    modules.into_iter().map(|module| (module.name, module.path, module.url)).collect()
}

#[test]
fn as_git_writes_it() {
    let text = "[submodule \"lib\"]\n\tpath = lib\n\turl = ../lib.git\n\tbranch = main\n\
                [submodule \"a \\\"b\\\"\"]\n\tpath = \"x y\"  \n\turl = https://h/r.git ; why\n[core]\n\tbare = true\n";
    let expected = [("lib", "lib", "../lib.git"), ("a \"b\"", "x y", "https://h/r.git")];
    let owned = |(name, path, url): (&str, &str, &str)| (name.to_owned(), path.to_owned(), url.to_owned());
    assert_eq!(parsed(text), expected.map(owned));
}

#[test]
fn the_last_value_counts_and_half_an_entry_does_not() {
    let text =
        "[submodule \"a\"]\npath = p\n[submodule \"b\"]\npath=q\n[submodule \"a\"]\nurl = one\nURL = two\n";
    assert_eq!(parsed(text), [("a".to_owned(), "p".to_owned(), "two".to_owned())]);
    // Other sections are ignored, above all the files that they include.
    assert!(parsed("[include]\npath = /etc/passwd\nurl = x\n").is_empty());
}

#[rstest]
#[case("a # b", Some("a"))]
#[case("\"a # b\"", Some("a # b"))]
#[case("a\\\\b", Some("a\\b"))]
#[case("  a  b  ", Some("a  b"))]
#[case("\"  a \" ", Some("  a "))]
#[case("\"a", None)]
#[case("a\\x", None)]
fn values(#[case] raw: &str, #[case] expected: Option<&str>) {
    assert_eq!(value(raw).as_deref(), expected);
}

#[rstest]
#[case("[submodule \"a\npath = p\n", 1)]
#[case("\n[submodule", 2)]
#[case("[submodule \"a\"]\npath = \"p\n", 2)]
fn malformed(#[case] text: &str, #[case] line: usize) {
    assert_eq!(parse_modules(text), Err(ModulesError::Line { line }));
}

#[test]
fn no_more_than_the_cap() {
    let text = "#".repeat(MAX_BYTES + 1);
    assert_eq!(parse_modules(&text), Err(ModulesError::TooLarge { limit: MAX_BYTES }));
}

#[test]
fn lines_that_go_on() {
    assert_eq!(parsed("[submodule \"a\"]\npath = p\nurl = https://h/\\\nr.git\n")[0].2, "https://h/r.git");
}
