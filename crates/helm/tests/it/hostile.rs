//! Packages that nobody should trust (SRC-CHT-18, SRC-SCK-1, SRC-SCK-10).

use rstest::rstest;
use weir_artifact::DirectoryTree;
use weir_helm::{Chart, Limits};

use crate::packages::{chart, package};

const DESCRIPTION: &[u8] = b"name: app\nversion: 1.0.0\n";

fn refusal(archive: &[u8], limits: &Limits) -> String {
    Chart::from_archive(archive, limits).unwrap_err().to_string()
}

#[rstest]
#[case("/etc/passwd", "chart illegally contains absolute paths")]
#[case("app/../../etc/passwd", "chart illegally references parent directory")]
#[case("app/C:/Windows/x", "chart contains illegally named files")]
#[case("app\\..\\x", "chart illegally references parent directory")]
#[case("\\x", "chart illegally contains absolute paths")]
#[case("app\\C:\\Windows\\x", "chart contains illegally named files")]
#[case("app/%2e%2e\\..\\..\\x", "chart illegally references parent directory")]
#[case("Chart.yaml", "chart illegally contains content outside the base directory: Chart.yaml")]
fn names(#[case] name: &str, #[case] expected: &str) {
    let archive = package(&[("app/Chart.yaml", DESCRIPTION), (name, b"x")]);
    assert_eq!(refusal(&archive, &Limits::default()), expected);
}

#[test]
fn sizes_and_counts() {
    let zeros = vec![0; 1 << 20];
    let big = package(&[("app/Chart.yaml", DESCRIPTION), ("app/big", &zeros)]);
    assert!(big.len() < 50_000, "the bomb is small");
    let limits = Limits { file: 1 << 19, ..Limits::default() };
    assert!(refusal(&big, &limits).contains("is bigger than max archive size of 524288 bytes"));
    let many: Vec<(String, &[u8])> =
        (0..20).map(|index| (format!("app/{index}"), zeros.as_slice())).collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|(name, content)| (name.as_str(), *content)).collect();
    let limits = Limits { unpacked: 4 << 20, ..Limits::default() };
    assert!(refusal(&package(&many), &limits).contains("is bigger than max archive size of 4194304 bytes"));
    let limits = Limits { files: 10, ..Limits::default() };
    assert!(refusal(&package(&many), &limits).contains("more than 10 entries"));
}

#[test]
fn charts_in_charts_end_somewhere() {
    let mut inner = chart("app", "1.0.0");
    for _ in 0..12 {
        inner = package(&[("app/Chart.yaml", DESCRIPTION), ("app/charts/app.tgz", &inner)]);
    }
    assert!(refusal(&inner, &Limits::default()).ends_with("charts are nested deeper than 8 levels"));
}

/// The caps are on all of a chart: packages in it do not begin with new ones.
#[test]
fn packages_in_packages_share_the_caps() {
    let zeros = vec![0; 1 << 20];
    let inner =
        package(&[("db/Chart.yaml", b"name: db\nversion: 1.0.0\n"), ("db/big", &zeros), ("db/more", b"")]);
    let outer: Vec<(String, &[u8])> =
        (0..10).map(|index| (format!("app/charts/{index}.tgz"), inner.as_slice())).collect();
    let outer: Vec<(&str, &[u8])> = outer.iter().map(|(name, content)| (name.as_str(), *content)).collect();
    let archive = package(&[&[("app/Chart.yaml", DESCRIPTION)], outer.as_slice()].concat());
    let limits = Limits { unpacked: 6 << 20, ..Limits::default() };
    assert_eq!(
        refusal(&archive, &limits),
        "error unpacking subchart 5.tgz in app: chart has more than 6291456 bytes"
    );
    let limits = Limits { files: 25, ..Limits::default() };
    assert_eq!(
        refusal(&archive, &limits),
        "error unpacking subchart 4.tgz in app: chart has more than 25 files"
    );
    assert_eq!(Chart::from_archive(&archive, &Limits::default()).unwrap().subcharts().len(), 10);
}

/// Minutes, if each looked for a place of its own.
#[test]
fn thousands_of_charts_with_one_name() {
    let names: Vec<String> = (0..10_000).map(|index| format!("app/charts/{index}/Chart.yaml")).collect();
    let subcharts = names.iter().map(|name| (name.as_str(), DESCRIPTION));
    let archive =
        package(&[("app/Chart.yaml", DESCRIPTION)].into_iter().chain(subcharts).collect::<Vec<_>>());
    let mut packed = Vec::new();
    Chart::from_archive(&archive, &Limits::default()).unwrap().package(&mut packed).unwrap();
    let packed = Chart::from_archive(&packed, &Limits::default()).unwrap();
    assert_eq!(packed.subcharts().len(), names.len());
}

#[rstest]
#[case(b"", "EOF")]
#[case(b"junk", "unexpected EOF")]
#[case(b"no gzip file", "gzip: invalid header")]
#[case(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0], "failed to load chart archive: ")]
#[case(&package(&[("app/values.yaml", b"")]), "no 'Chart.yaml' found")]
#[case(
    &package(&[("app/Chart.yaml", DESCRIPTION), ("app/charts/db/values.yaml", b"")]),
    "error unpacking subchart db in app: Chart.yaml file is missing"
)]
fn what_is_no_package(#[case] archive: &[u8], #[case] expected: &str) {
    let refused = refusal(archive, &Limits::default());
    assert!(refused.starts_with(expected), "{refused}");
}

#[test]
fn a_package_that_is_cut_anywhere_is_no_chart() {
    let whole = chart("app", "1.0.0");
    for end in (0..whole.len()).step_by(whole.len() / 20) {
        assert!(Chart::from_archive(&whole[..end], &Limits::default()).is_err(), "cut at {end}");
    }
}

#[test]
fn large_files_of_a_directory() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("Chart.yaml"), DESCRIPTION).unwrap();
    std::fs::write(folder.path().join("big"), vec![0; 200]).unwrap();
    let tree = DirectoryTree::open_path(folder.path()).unwrap();
    let limits = Limits { file: 100, ..Limits::default() };
    let error = Chart::from_tree(&tree, None, &limits).unwrap_err();
    let expected = "failed to load files from /: cannot load file big as file size (200) exceeds limit (100)";
    assert_eq!(error.to_string(), expected);
}
