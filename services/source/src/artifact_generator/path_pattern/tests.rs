use rstest::rstest;

use super::*;

fn output(name: &str, from: &str) -> OutputArtifact {
    let copy = CopyOperation { from: from.to_owned(), to: "@artifact/".to_owned(), ..Default::default() };
    OutputArtifact { name: name.to_owned(), copy: vec![copy], ..Default::default() }
}

fn expand(pattern: &str, output: OutputArtifact, directories: &[&str]) -> Result<Vec<Request>, String> {
    let pattern = PathPattern::parse(pattern).map_err(|error| error.to_string())?;
    pattern.expand(directories.iter().copied(), &[output]).map_err(|error| error.to_string())
}

#[test]
fn every_matching_directory_makes_an_artifact() {
    let directories = ["apps", "apps/Web", "apps/Web/envs", "apps/Web/envs/Prod", "apps/api/envs/dev/x"];
    let output = output("{app}-{env}", "@git/apps/{app}/envs/{env}/**");
    let made = expand("@git/apps/{app}/envs/{env}", output, &directories).unwrap();
    assert_eq!(made.len(), 1);
    assert_eq!(made[0].artifact.name, "web-prod");
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

#[rstest]
#[case("@git/{a", "{a}", &[], "capture at offset 0 has no closing brace")]
#[case("@git/a}", "x", &[], "closing brace at offset 1 closes nothing")]
#[case("@git/{}", "x", &[], r#"capture variable "" must match"#)]
#[case("@git/{1a}", "x", &[], r#"capture variable "1a" must match"#)]
#[case("@git/{a}/{a}", "x", &[], r#"duplicate capture variable "a""#)]
#[case("git/{a}", "x", &[], "invalid pathPattern format: git/{a}")]
#[case("@git/{a}", "{b}", &["x"], r#"capture variable "b" is not defined by pathPattern"#)]
#[case("@git/{a}", "{a}_", &["x"], r#"rendered artifact name "x_" is not a valid Kubernetes object name"#)]
#[case("@git/{a}", "same", &["x", "y"], r#"directories "x" and "y" both resolve to artifact name "same""#)]
#[case("@git/{a}", "{a}", &["X", "x"], r#"directories "X" and "x" both resolve to artifact name "x""#)]
#[case("@git/{a}", "x", &["ä"], r#"captured value "ä" for variable "a" is not a valid Kubernetes label value"#)]
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
