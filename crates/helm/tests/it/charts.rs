//! Charts from packages and directories, and packages made of them.

use std::path::Path;

use weir_artifact::{DirectoryTree, RelPath};
use weir_helm::{Chart, Limits, dependency, values};

use crate::packages::{chart, contents, package};

fn tree(files: &[(&str, &[u8])]) -> (tempfile::TempDir, DirectoryTree) {
    let folder = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    let tree = DirectoryTree::open_path(folder.path()).unwrap();
    (folder, tree)
}

fn packaged(chart: &Chart) -> Vec<u8> {
    let mut bytes = Vec::new();
    chart.package(&mut bytes).unwrap();
    bytes
}

fn names(package: &[u8]) -> Vec<String> {
    contents(package).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn a_directory_becomes_a_package_without_what_is_ignored() {
    let (_folder, tree) = tree(&[
        ("charts/app/Chart.yaml", b"apiVersion: v2\nname: app\nversion: 1.0.0\nappVersion: 1.10\n"),
        ("charts/app/.helmignore", b"*.bak\n/docs/\n"),
        ("charts/app/x.bak", b"x"),
        ("charts/app/docs/a.md", b"x"),
        ("charts/app/templates/cm.yaml", b"kind: ConfigMap\n"),
        ("charts/app/templates/.cm.yaml.swp", b"x"),
        ("charts/app/values.yaml", b"\xef\xbb\xbfa: 1\n"),
        ("other.yaml", b"x"),
    ]);
    let chart =
        Chart::from_tree(&tree, Some(&RelPath::parse("charts/app").unwrap()), &Limits::default()).unwrap();
    let package = packaged(&chart);
    assert_eq!(
        names(&package),
        ["app/Chart.yaml", "app/.helmignore", "app/templates/cm.yaml", "app/values.yaml"]
    );
    assert_eq!(contents(&package)[3].1, "a: 1\n");
    assert!(contents(&package)[0].1.contains("appVersion: \"1.10\""), "{:?}", contents(&package)[0]);
    assert_eq!(packaged(&Chart::from_archive(&package, &Limits::default()).unwrap()), package);
}

/// SRC-CHT-18: Windows separates by backslashes, and Helm takes what it packaged.
#[test]
fn a_package_made_on_windows_is_a_chart() {
    let archive = package(&[
        ("app\\Chart.yaml", b"name: app\nversion: 1.0.0\n"),
        ("app\\templates\\cm.yaml", b"kind: ConfigMap\n"),
        ("app\\charts\\db\\Chart.yaml", b"name: db\nversion: 1.0.0\n"),
    ]);
    let chart = Chart::from_archive(&archive, &Limits::default()).unwrap();
    assert_eq!(
        names(&packaged(&chart)),
        ["app/Chart.yaml", "app/templates/cm.yaml", "app/charts/db/Chart.yaml"]
    );
}

#[test]
fn charts_inside_charts_are_written_out() {
    let (_folder, tree) = tree(&[
        ("Chart.yaml", b"apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies: [{name: db, version: 1.x}, {name: web, version: 1.x}, {name: log, version: '*', repository: 'https://example.com'}]\n"),
        ("charts/db-1.0.0.tgz", &chart("db", "1.0.0")),
        ("charts/db-1.0.0.tgz.prov", b"signature"),
        ("charts/web/Chart.yaml", b"name: web\nversion: 1.1.0\n"),
        ("charts/_old/Chart.yaml", b"broken"),
        ("charts/README.md", b"x"),
    ]);
    let mut chart_ = Chart::from_tree(&tree, None, &Limits::default()).unwrap();
    let missing = dependency::missing(&chart_);
    assert_eq!(missing.iter().map(|dependency| dependency.name.as_str()).collect::<Vec<_>>(), ["log"]);
    chart_.add(Chart::from_archive(&chart("log", "3.0.0"), &Limits::default()).unwrap());
    assert!(dependency::missing(&chart_).is_empty());
    let names = names(&packaged(&chart_));
    for file in [
        "app/charts/db/Chart.yaml",
        "app/charts/db/templates/cm.yaml",
        "app/charts/web/Chart.yaml",
        "app/charts/log/values.yaml",
    ] {
        assert!(names.contains(&file.to_owned()), "{file} is not in {names:?}");
    }
    assert!(!names.iter().any(|name| name.contains("_old") || name.contains("README")), "{names:?}");
}

#[test]
fn the_old_format_keeps_its_dependencies_in_their_own_file() {
    let files: [(&str, &[u8]); 3] = [
        ("Chart.yaml", b"name: app\nversion: 1.0.0\n"),
        ("requirements.yaml", b"dependencies:\n- {name: db, version: 1.x, repository: '@bitnami'}\n"),
        ("requirements.lock", b"dependencies:\n- {name: db, version: 1.2.3, repository: '@bitnami'}\n"),
    ];
    let (_folder, tree) = tree(&files);
    let chart = Chart::from_tree(&tree, None, &Limits::default()).unwrap();
    let missing = dependency::missing(&chart);
    assert_eq!(missing[0].version, "1.2.3", "the lock file counts");
    assert!(dependency::origin(&missing[0], None).is_err());
    let contents = contents(&packaged(&chart));
    assert!(!contents[0].1.contains("dependencies"), "{}", contents[0].1);
    assert!(contents[0].1.contains("apiVersion: v1"), "{}", contents[0].1);
}

/// As Helm's loader does: charts that became `v2` and kept their files are out in the world.
#[test]
fn files_of_the_old_format_count_in_the_new_one() {
    let files: [(&str, &[u8]); 3] = [
        ("Chart.yaml", b"apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies: [{name: other}]\n"),
        ("requirements.yaml", b"dependencies:\n- {name: db, version: 1.x, repository: '@bitnami'}\n"),
        ("requirements.lock", b"dependencies:\n- {name: db, version: 1.2.3, repository: '@bitnami'}\n"),
    ];
    let (_folder, tree) = tree(&files);
    let chart = Chart::from_tree(&tree, None, &Limits::default()).unwrap();
    let missing = dependency::missing(&chart);
    assert_eq!((missing.len(), &*missing[0].name, &*missing[0].version), (1, "db", "1.2.3"));
    let written = packaged(&chart);
    assert_eq!(names(&written), ["app/Chart.yaml", "app/Chart.lock"]);
    assert!(contents(&written)[0].1.contains("name: db"), "{}", contents(&written)[0].1);
    let again = Chart::from_archive(&written, &Limits::default()).unwrap();
    assert_eq!((again.required(), &again.metadata), (chart.required(), &chart.metadata));
}

/// In Helm's words, which name the directory.
#[rstest::rstest]
#[case(
    "values.yaml",
    b"a: b: c\n",
    "failed to load chart from /app/: cannot load values.yaml: cannot unmarshal yaml document: \
                                     error converting YAML to JSON: yaml: line 1: mapping values are not allowed in this context"
)]
#[case(
    "values.yaml",
    b"a: b\n---\n- a\n",
    "failed to load chart from /app/: cannot load values.yaml: cannot unmarshal yaml \
    document: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}"
)]
#[case(
    ".helmignore",
    b"a/**\n",
    "cannot load ignore rules for chart: double-star (**) syntax is not supported"
)]
#[case(
    "charts/db/x",
    b"",
    "failed to load chart from /app/: error unpacking subchart db in app: Chart.yaml file is missing"
)]
fn what_is_wrong_with_a_directory(#[case] file: &str, #[case] content: &[u8], #[case] expected: &str) {
    let files =
        [("app/Chart.yaml", b"name: app\nversion: 1.0.0\n".as_slice()), (&format!("app/{file}"), content)];
    let (_folder, tree) = tree(&files);
    let place = RelPath::parse("app").unwrap();
    let refused = Chart::from_tree(&tree, Some(&place), &Limits::default()).unwrap_err();
    assert_eq!(refused.to_string(), expected);
}

#[test]
fn a_schema_that_is_no_json_is_not_packaged() {
    let files: [(&str, &[u8]); 2] = [
        ("app/Chart.yaml", b"name: app\nversion: 1.0.0\n"),
        ("app/values.schema.json", b"{\"type\": object}"),
    ];
    let chart = Chart::from_archive(&package(&files), &Limits::default()).unwrap();
    let refused = chart.package(Vec::new()).unwrap_err();
    assert_eq!(refused.to_string(), "invalid JSON in values.schema.json");
}

#[test]
fn values_are_replaced_where_there_are_any() {
    let mut chart_ = Chart::from_archive(&chart("app", "1.0.0"), &Limits::default()).unwrap();
    let mut merged = values::parse("a", b"a: {b: 1}\n").unwrap();
    merged.merge(values::parse("b", b"a: {c: [1]}\n").unwrap());
    assert!(chart_.replace_values(merged.to_yaml().unwrap()));
    let contents = contents(&packaged(&chart_));
    assert_eq!(
        contents.iter().find(|(name, _)| name == "app/values.yaml").unwrap().1,
        "a:\n  b: 1\n  c:\n  - 1\n"
    );
    let bare = package(&[("app/Chart.yaml", b"name: app\nversion: 1.0.0\n")]);
    assert!(!Chart::from_archive(&bare, &Limits::default()).unwrap().replace_values(String::new()));
}

#[test]
fn links_out_of_the_source_lead_nowhere() {
    let (folder, tree) = tree(&[("app/Chart.yaml", b"name: app\nversion: 1.0.0\n")]);
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("app/passwd")).unwrap();
    std::os::unix::fs::symlink(Path::new("/etc"), folder.path().join("app/templates")).unwrap();
    let chart = Chart::from_tree(&tree, Some(&RelPath::parse("app").unwrap()), &Limits::default()).unwrap();
    assert_eq!(names(&packaged(&chart)), ["app/Chart.yaml"]);
}
