use rstest::rstest;

use super::*;
use crate::artifact_generator::source_tree::SourceTree;

fn output(name: &str, from: &str) -> OutputArtifact {
    let copy = CopyOperation { from: from.to_owned(), to: "@artifact/".to_owned(), ..Default::default() };
    OutputArtifact { name: name.to_owned(), copy: vec![copy], ..Default::default() }
}

fn expand(pattern: &str, output: OutputArtifact, directories: &[&str]) -> Result<Vec<Request>, String> {
    let source = tempfile::tempdir().unwrap();
    for directory in directories {
        std::fs::create_dir_all(source.path().join(directory)).unwrap();
    }
    let sources = Sources::from([("git".to_owned(), SourceTree::open(source.path()).unwrap())]);
    super::expand(pattern, &sources, &[output]).map_err(|error| error.to_string())
}

#[test]
fn every_matching_directory_makes_an_artifact() {
    let directories = ["apps/Web/envs/Prod", "apps/api/envs/dev/x"];
    let output = output("{app}-{env}", "@git/apps/{app}/envs/{env}/**");
    let made = expand("@git/apps/{app}/envs/{env}", output, &directories).unwrap();
    let names: Vec<_> = made.iter().map(|request| request.artifact.name.as_str()).collect();
    assert_eq!(names, ["web-prod", "api-dev"]);
    assert_eq!(made[0].artifact.copy[0].from, "@git/apps/Web/envs/Prod/**");
    let labels: Vec<_> = made[0].labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(labels, ["app=web", "env=prod"]);
}

#[test]
fn a_pattern_is_literal_but_for_its_captures() {
    let directories = ["a.b/x", "acb/y", "a.b/x/z"];
    let made = expand("@git/a.b/{name}", output("{name}", "@git/**"), &directories).unwrap();
    assert_eq!(made.len(), 1);
    assert!(expand("@git/nothing/{name}", output("{name}", "@git/**"), &directories).unwrap().is_empty());
}

/// One byte more than a label takes.
const LONG: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
    start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
    '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const KEY: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

#[rstest]
#[case("x/{a", "invalid capture starting at offset 2: missing closing brace")]
#[case("a}", "invalid capture ending at offset 1: missing opening brace")]
#[case("{}", "empty capture variable")]
#[case("{1a}", r#"capture variable "1a" must be a valid capture name matching [A-Za-z_][A-Za-z0-9_]*"#)]
#[case("{a}/{a}/{", r#"duplicate capture variable "a""#)]
#[case("{_app}", &format!(r#"capture variable "_app" is not a valid Kubernetes label key: {KEY}"#))]
#[case("{app_}", &format!(r#"capture variable "app_" is not a valid Kubernetes label key: {KEY}"#))]
#[case(
    &format!("{{{LONG}}}"),
    &format!("capture variable {LONG:?} is not a valid Kubernetes label key: name part must be no more than 63 bytes")
)]
fn a_pattern_that_cannot_be_read_is_refused_in_the_words_of_flux(#[case] path: &str, #[case] expected: &str) {
    let pattern = format!("@git/{path}");
    // No directory has to match.
    let error = expand(&pattern, output("x", "@git/**"), &[]).unwrap_err();
    assert_eq!(error, format!("pathPattern {pattern:?}: {expected}"));
}

#[rstest]
#[case("{b}", r#"capture variable "b" is not defined by pathPattern"#)]
#[case("{b}{", r#"capture variable "b" is not defined by pathPattern"#)]
#[case("a-{", "capture starting at offset 2 is missing closing brace")]
#[case("a}", "capture ending at offset 1 is missing opening brace")]
#[case("{}", "empty capture variable")]
#[case("{1a}", r#"capture variable "1a" must be a valid capture name matching [A-Za-z_][A-Za-z0-9_]*"#)]
fn a_template_that_cannot_be_filled_in_is_refused_in_the_words_of_flux(
    #[case] name: &str,
    #[case] expected: &str,
) {
    let error = expand("@git/{a}", output(name, "@git/**"), &["dir"]).unwrap_err();
    let expected = format!(
        "pathPattern \"@git/{{a}}\": failed to render artifact {name} for match dir: invalid template {name:?}: {expected}"
    );
    assert_eq!(error, expected);
}

#[rstest]
#[case("git/{a}", "x", &[], "invalid pathPattern format: git/{a}")]
#[case("@other/{", "x", &[], r#"pathPattern "@other/{": source alias other not found in local sources"#)]
#[case("@git/{a}", "{a}_", &["x"], r#"rendered artifact name "x_" is not a valid Kubernetes object name: a lower"#)]
#[case("@git/{a}", "same", &["x", "y"], r#"directories "x" and "y" both resolve to artifact name "same""#)]
#[case("@git/{a}", "{a}", &["X", "x"], r#"directories "X" and "x" both resolve to artifact name "x""#)]
#[case("@git/{a}", "x", &["ä"], &format!(r#"captured value "ä" for variable "a" is not a valid Kubernetes label value: {VALUE}"#))]
#[case("@git/{a}", "x", &[LONG], "is not a valid Kubernetes label value: must be no more than 63 bytes")]
fn refused(#[case] pattern: &str, #[case] name: &str, #[case] directories: &[&str], #[case] expected: &str) {
    let error = expand(pattern, output(name, "@git/**"), directories).unwrap_err();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn there_is_an_end_to_what_one_pattern_makes() {
    let directories: Vec<String> = (0..=MAX_REQUESTS).map(|number| format!("d{number}")).collect();
    let directories: Vec<&str> = directories.iter().map(String::as_str).collect();
    let error = expand("@git/{a}", output("{a}", "@git/**"), &directories).unwrap_err();
    assert_eq!(error, r#"pathPattern "@git/{a}" makes more than 4000 artifacts"#);
}
