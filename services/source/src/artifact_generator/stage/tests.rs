use std::fs;
use std::path::Path;

use flate2::write::GzEncoder;
use proptest::prelude::*;
use rstest::rstest;
use weir_artifact::Limits;

use super::*;
use crate::artifact_generator::source_tree::SourceTree;

const SOURCE: &[(&str, &str)] = &[
    ("README.md", "read me"),
    ("values.yaml", "image: {tag: 1, name: app}\nlist: [1, 2]\n"),
    ("override.yaml", "image: {tag: 2}\n---\nlist: [3]\n"),
    ("deploy/app.yaml", "app"),
    ("deploy/README.md", "no"),
    ("deploy/base/k.yaml", "base"),
    ("deploy/base/docs/x.md", "docs"),
    ("deploy-old/app.yaml", "old"),
];

fn fill(directory: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn operation(from: &str, to: &str) -> CopyOperation {
    CopyOperation { from: from.to_owned(), to: to.to_owned(), ..Default::default() }
}

fn with(strategy: &str, from: &str, to: &str) -> CopyOperation {
    CopyOperation { strategy: Some(strategy.to_owned()), ..operation(from, to) }
}

/// Paths and texts of what the operations make of a source with these files, directories with a slash.
fn staged_from(source: &Path, operations: &[CopyOperation]) -> Result<Vec<String>, String> {
    let sources = Sources::from([("git".to_owned(), SourceTree::open(source).unwrap())]);
    let out = tempfile::tempdir().unwrap();
    stage(&sources, operations, out.path(), Limits::default()).map_err(|error| error.to_string())?;
    let tree = SourceTree::open(out.path()).unwrap();
    let shown = tree.entries().map(|(path, kind)| match kind {
        TreeKind::Directory => format!("{path}/"),
        _ => format!("{path}={}", fs::read_to_string(out.path().join(path)).unwrap()),
    });
    Ok(shown.collect())
}

fn staged(operations: &[CopyOperation]) -> Result<Vec<String>, String> {
    let source = tempfile::tempdir().unwrap();
    fill(source.path(), SOURCE);
    staged_from(source.path(), operations)
}

#[rstest]
#[case::file_to_name("@git/README.md", "@artifact/x/y", &["x/", "x/y=read me"])]
#[case::file_to_directory("@git/README.md", "@artifact/x/", &["x/", "x/README.md=read me"])]
#[case::file_to_root("@git/README.md", "@artifact/", &["README.md=read me"])]
#[case::directory("@git/deploy-old", "@artifact/", &["deploy-old/", "deploy-old/app.yaml=old"])]
#[case::directory_below("@git/deploy-old/", "@artifact/to", &["to/", "to/deploy-old/", "to/deploy-old/app.yaml=old"])]
#[case::contents("@git/deploy-old/**", "@artifact/", &["app.yaml=old"])]
#[case::whole_paths("@git/deploy*/*.yaml", "@artifact/all",
    &["all/", "all/deploy/", "all/deploy/app.yaml=app", "all/deploy-old/", "all/deploy-old/app.yaml=old"])]
#[case::names("@git/*.md", "@artifact/", &["README.md=read me"])]
#[case::up_and_down("@git/deploy/base/../../README.md", "@artifact/x/./../y", &["y=read me"])]
#[case::up_to_a_directory("@git/deploy/../deploy-old/.", "@artifact/x/../", &["deploy-old/", "deploy-old/app.yaml=old"])]
fn copied_as_cp_does(#[case] from: &str, #[case] to: &str, #[case] expected: &[&str]) {
    assert_eq!(staged(&[operation(from, to)]).unwrap(), expected);
}

#[test]
fn a_file_goes_into_a_directory_that_is_there() {
    let operations =
        [operation("@git/deploy-old/**", "@artifact/x/"), operation("@git/README.md", "@artifact/x")];
    assert_eq!(staged(&operations).unwrap(), ["x/", "x/README.md=read me", "x/app.yaml=old"]);
}

#[test]
fn later_operations_win() {
    let operations = [
        operation("@git/deploy/app.yaml", "@artifact/app.yaml"),
        operation("@git/deploy-old/app.yaml", "@artifact/app.yaml"),
    ];
    assert_eq!(staged(&operations).unwrap(), ["app.yaml=old"]);
}

#[test]
fn the_whole_source_is_copied_without_its_name() {
    let all = staged(&[operation("@git/", "@artifact/src")]).unwrap();
    assert!(all.contains(&"src/deploy/base/k.yaml=base".to_owned()), "{all:?}");
    assert_eq!(all.iter().filter(|entry| !entry.ends_with('/')).count(), SOURCE.len());
}

#[rstest]
#[case::names("@git/deploy", &["*.md"], &["deploy/", "deploy/app.yaml=app", "deploy/base/", "deploy/base/docs/", "deploy/base/k.yaml=base"])]
#[case::directories("@git/deploy", &["base/**", "README.md"], &["deploy/", "deploy/app.yaml=app"])]
#[case::from_the_root("@git/deploy/**", &["deploy/base", "*.md"], &["app.yaml=app"])]
#[case::siblings("@git/", &["deploy", "deploy-old", "*.yaml"], &["README.md=read me"])]
#[case::a_file("@git/README.md", &["*.md"], &[])]
fn left_out(#[case] from: &str, #[case] exclude: &[&str], #[case] expected: &[&str]) {
    let exclude = exclude.iter().map(ToString::to_string).collect();
    let operation = CopyOperation { exclude, ..operation(from, "@artifact/") };
    assert_eq!(staged(&[operation]).unwrap(), expected);
}

#[test]
fn yaml_is_merged_into_what_is_there() {
    let operations = [
        with(MERGE, "@git/values.yaml", "@artifact/values.yaml"),
        with(MERGE, "@git/override.yaml", "@artifact/values.yaml"),
    ];
    let merged = "values.yaml=image:\n  name: app\n  tag: 2\nlist:\n- 3\n";
    let made = staged(&operations).unwrap();
    let sorted = |text: &str| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&made[0]), sorted(merged));
    // A directory is copied, not merged.
    let operations = [
        operation("@git/deploy/app.yaml", "@artifact/deploy-old/app.yaml"),
        with(MERGE, "@git/deploy-old", "@artifact/"),
    ];
    assert_eq!(staged(&operations).unwrap(), ["deploy-old/", "deploy-old/app.yaml=old"]);
}

#[rstest]
#[case(operation("@git/nothing", "@artifact/"), "source 'nothing' does not exist")]
#[case(operation("@git/nothing/*", "@artifact/"), "no files match pattern 'nothing/*' in source 'git'")]
#[case(operation("@other/x", "@artifact/"), "source alias 'other' not found")]
#[case(
    operation("@git/../x", "@artifact/"),
    "from '@git/../x' to '@artifact/': failed to stat source '../x': statat ../x: path escapes from parent"
)]
#[case(
    operation("@git/deploy/../../*", "@artifact/"),
    "no files match pattern 'deploy/../../*' in source 'git'"
)]
#[case(operation("@git/deploy/../../git/README.md", "@artifact/"), "path escapes from parent")]
#[case(operation("@git/../../x", "@artifact/"), "path escapes from parent")]
#[case(operation("@git//deploy/../README.md", "@artifact/"), "path escapes from parent")]
#[case(operation("@git/README.md", "@artifact/x/../../../y"), "path '../../y' leads out of its root")]
#[case(operation("@git//etc/passwd", "@artifact/"), "statat /etc/passwd: path escapes from parent")]
#[case(operation("@git/README.md", "@artifact/../x"), "path '../x' leads out of its root")]
#[case(operation("@git/README.md", "@artifact//x"), "path '/x' is absolute")]
#[case(operation("@git/deploy/**", "@artifact/x/../../y/"), "leads out of its root")]
#[case(with(MERGE, "@git/README.md", "@artifact/../x"), "leads out of its root")]
#[case(with(MERGE, "@git/../x", "@artifact/"), "path escapes from parent")]
#[case(with(EXTRACT, "@git/x.tgz", "@artifact/../x"), "leads out of its root")]
#[case(with(EXTRACT, "@git/x.tgz", "@artifact//x"), "path '/x' is absolute")]
#[case(with(EXTRACT, "@git//etc/x.tgz", "@artifact/"), "statat /etc/x.tgz: path escapes from parent")]
#[case(operation("@git/%2e%2e/x", "@artifact/"), "source '%2e%2e/x' does not exist")]
#[case(operation("@git/..\\x", "@artifact/"), "invalid copy source")]
#[case(with(EXTRACT, "@git/../x.tgz", "@artifact/"), "path escapes from parent")]
#[case(
    with(EXTRACT, "@git/**/../*.tgz", "@artifact/"),
    "no files match pattern '**/../*.tgz' in source 'git'"
)]
#[case(
    with(EXTRACT, "@git/deploy", "@artifact/"),
    "extract strategy is not supported for directories, got 'deploy'"
)]
#[case(with(EXTRACT, "@git/", "@artifact/"), "extract strategy is not supported for directories, got '.'")]
#[case(
    with(EXTRACT, "@git/README.md", "@artifact/"),
    "extract strategy requires tarball file (.tar.gz or .tgz), got 'README.md'"
)]
#[case(CopyOperation { exclude: vec!["*".into()], ..operation("@git/*.md", "@artifact/") },
    "all files matching pattern '*.md' in source 'git' were excluded")]
#[case(CopyOperation { exclude: vec!["[".into()], ..operation("@git/*.md", "@artifact/") }, "invalid exclude pattern '['")]
fn refused(#[case] operation: CopyOperation, #[case] expected: &str) {
    let error = staged(&[operation]).unwrap_err();
    assert!(error.contains(expected), "{error}");
}

#[rstest]
#[case::file("@artifact/x", "@git/values.yaml", "@artifact/x/y", "openat x/y: not a directory")]
#[case::directory(
    "@artifact/deploy",
    "@git/deploy",
    "@artifact/",
    "openat deploy/README.md: not a directory"
)]
#[case::below_a_file("@artifact/x", "@git/deploy", "@artifact/x", "mkdirat x/deploy: not a directory")]
fn a_file_in_the_way_of_a_directory_is_told(
    #[case] first: &str,
    #[case] from: &str,
    #[case] to: &str,
    #[case] expected: &str,
) {
    let error = staged(&[operation("@git/README.md", first), operation(from, to)]).unwrap_err();
    assert!(error.ends_with(&format!("from '{from}' to '{to}': {expected}")), "{error}");
}

#[rstest]
#[case::of_a_directory("@git/deploy", "openat deploy/base: is a directory")]
#[case::of_a_pattern(
    "@git/deploy/b*",
    "failed to copy file 'deploy/base' to 'deploy/base': openat deploy/base: is a directory"
)]
fn a_directory_in_the_way_of_a_file_is_told(#[case] from: &str, #[case] expected: &str) {
    let source = tempfile::tempdir().unwrap();
    fill(source.path(), &[("deploy/base", "a file"), ("values.yaml", "a: 1\n")]);
    let first = operation("@git/values.yaml", "@artifact/deploy/base/");
    let error = staged_from(source.path(), &[first, operation(from, "@artifact/")]).unwrap_err();
    assert!(error.ends_with(&format!("from '{from}' to '@artifact/': {expected}")), "{error}");
}

#[test]
fn what_cannot_be_merged_is_told() {
    let operations = [
        operation("@git/README.md", "@artifact/values.yaml"),
        with(MERGE, "@git/values.yaml", "@artifact/values.yaml"),
    ];
    let error = staged(&operations).unwrap_err();
    let expected = "to '@artifact/values.yaml': cannot unmarshal YAML document: error unmarshaling JSON: while decoding \
                    JSON: json: cannot unmarshal string into Go value of type map[string]interface {}";
    assert!(error.contains(expected), "{error}");
    // Of a pattern, the match is named.
    let mut of_pattern = operations;
    of_pattern[1].from = "@git/v*.yaml".to_owned();
    of_pattern[1].to = "@artifact/".to_owned();
    let error = staged(&of_pattern).unwrap_err();
    assert!(
        error.contains("failed to copy file 'values.yaml' to 'values.yaml': cannot unmarshal YAML"),
        "{error}"
    );
    let source = tempfile::tempdir().unwrap();
    fill(source.path(), &[("a.yaml", "a: 1\n"), ("b.yaml", "b: [\n")]);
    let operations = [
        operation("@git/a.yaml", "@artifact/values.yaml"),
        with(MERGE, "@git/b.yaml", "@artifact/values.yaml"),
    ];
    let error = staged_from(source.path(), &operations).unwrap_err();
    let expected = "cannot unmarshal YAML document: error converting YAML to JSON: yaml: line ";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_file_that_is_merged_into_keeps_its_mode() {
    let (source, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fill(source.path(), SOURCE);
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(source.path().join("values.yaml"), executable).unwrap();
    let sources = Sources::from([("git".to_owned(), SourceTree::open(source.path()).unwrap())]);
    let operations = [
        operation("@git/values.yaml", "@artifact/values.yaml"),
        with(MERGE, "@git/override.yaml", "@artifact/values.yaml"),
    ];
    stage(&sources, &operations, out.path(), Limits::default()).unwrap();
    let made = SourceTree::open(out.path()).unwrap();
    let merged = made.kind(&RelPath::parse("values.yaml").unwrap());
    assert_eq!(merged, Some(TreeKind::File { executable: true }));
}

#[test]
fn nothing_merged_into_nothing_is_an_empty_mapping() {
    let source = tempfile::tempdir().unwrap();
    fill(source.path(), &[("none.yaml", "# nothing\n"), ("null.yaml", "null\n")]);
    let operations = [
        operation("@git/none.yaml", "@artifact/values.yaml"),
        with(MERGE, "@git/null.yaml", "@artifact/values.yaml"),
    ];
    assert_eq!(staged_from(source.path(), &operations).unwrap(), ["values.yaml={}\n"]);
}

fn tarball(path: &Path, build: impl FnOnce(&mut tar::Builder<GzEncoder<fs::File>>)) {
    let gzip = GzEncoder::new(fs::File::create(path).unwrap(), flate2::Compression::fast());
    let mut tar = tar::Builder::new(gzip);
    build(&mut tar);
    tar.into_inner().unwrap().finish().unwrap();
}

fn add(tar: &mut tar::Builder<GzEncoder<fs::File>>, name: &str, kind: tar::EntryType, text: &str) {
    let mut header = tar::Header::new_gnu();
    // Written by hand: the builder refuses the names that this is about.
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(kind);
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    if kind == tar::EntryType::Symlink {
        header.set_link_name("/etc/passwd").unwrap();
    }
    header.set_cksum();
    tar.append(&header, text.as_bytes()).unwrap();
}

#[test]
fn tarballs_are_unpacked_wherever_they_lie() {
    let source = tempfile::tempdir().unwrap();
    fill(source.path(), &[("a/b/x.txt", "no tarball")]);
    tarball(&source.path().join("a/b/one.TGZ"), |tar| add(tar, "app/x", tar::EntryType::Regular, "1"));
    tarball(&source.path().join("a/two.tar.gz"), |tar| add(tar, "y", tar::EntryType::Regular, "2"));
    let made = staged_from(source.path(), &[with(EXTRACT, "@git/**", "@artifact/to")]).unwrap();
    assert_eq!(made, ["to/", "to/app/", "to/app/x=1", "to/y=2"]);
    let made = staged_from(source.path(), &[with(EXTRACT, "@git/a/two.tar.gz", "@artifact/")]).unwrap();
    assert_eq!(made, ["y=2"]);
}

/// SRC-SCK-1 for the strategy that reads names out of a file.
#[rstest]
#[case::up("../../x", tar::EntryType::Regular, r#"tar contained invalid name error "../../x""#)]
#[case::absolute("/etc/x", tar::EntryType::Regular, r#"tar contained invalid name error "/etc/x""#)]
#[case::backslash("a\\..\\x", tar::EntryType::Regular, "tar contained invalid name error")]
#[case::symlink(
    "x",
    tar::EntryType::Symlink,
    "tar file entry x is a symlink, which is not allowed in this context"
)]
#[case::hard_link("x", tar::EntryType::Link, "tar file entry x contained unsupported file type")]
fn hostile_tarballs_are_refused(#[case] name: &str, #[case] kind: tar::EntryType, #[case] expected: &str) {
    let source = tempfile::tempdir().unwrap();
    tarball(&source.path().join("x.tgz"), |tar| {
        add(tar, "good", tar::EntryType::Regular, "1");
        add(tar, name, kind, "");
    });
    for from in ["@git/x.tgz", "@git/*.tgz"] {
        let error = staged_from(source.path(), &[with(EXTRACT, from, "@artifact/")]).unwrap_err();
        assert!(error.contains("failed to extract tarball 'x.tgz' to '.': "), "{error}");
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_tarball_that_unpacks_to_too_much_is_refused() {
    let source = tempfile::tempdir().unwrap();
    tarball(&source.path().join("bomb.tgz"), |tar| {
        let mut header = tar::Header::new_gnu();
        header.set_size(MAX_EXTRACTED + 1);
        header.set_cksum();
        tar.append_data(&mut header, "zeros", io::Read::take(io::repeat(0), MAX_EXTRACTED + 1)).unwrap();
    });
    let error = staged_from(source.path(), &[with(EXTRACT, "@git/bomb.tgz", "@artifact/")]).unwrap_err();
    assert!(error.contains("is bigger than max archive size of 104857600 bytes"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// SRC-SCK-1: whatever paths an operation has and whatever it does, nothing beside the artifact is touched.
    #[test]
    fn nothing_is_written_beside_the_artifact(
        from in "[a./*]{0,10}",
        to in "[a./]{0,10}",
        strategy in prop::sample::select(vec!["Overwrite", MERGE, EXTRACT]),
    ) {
        let world = tempfile::tempdir().unwrap();
        fill(world.path(), &[("source/a/a", "1: 1\n"), ("source/aa", "2: 2\n"), ("beside/a", "secret"), ("out/a/a", "3: 3\n")]);
        tarball(&world.path().join("source/a.tgz"), |tar| add(tar, "a", tar::EntryType::Regular, "4"));
        let sources = Sources::from([("git".to_owned(), SourceTree::open(&world.path().join("source")).unwrap())]);
        let operation = with(strategy, &format!("@git/{from}"), &format!("@artifact/{to}"));
        // It may be refused or not; that does not matter here.
        let _ = stage(&sources, &[operation], &world.path().join("out"), Limits::default());
        let everything = SourceTree::open(world.path()).unwrap();
        let beside: Vec<_> = everything.entries().map(|(path, _)| path.to_string()).filter(|path| !path.starts_with("out/")).collect();
        prop_assert_eq!(beside, ["beside", "beside/a", "out", "source", "source/a", "source/a/a", "source/a.tgz", "source/aa"]);
        for (path, text) in [("beside/a", "secret"), ("source/a/a", "1: 1\n"), ("source/aa", "2: 2\n")] {
            prop_assert_eq!(fs::read_to_string(world.path().join(path)).unwrap(), text);
        }
        let read = everything.entries().filter(|(path, _)| path.as_str().starts_with("out/"));
        for (path, kind) in read {
            if kind != TreeKind::Directory {
                let content = fs::read(world.path().join(path)).unwrap();
                let text = String::from_utf8_lossy(&content);
                prop_assert!(!text.contains("secret"), "{path} has what is beside the source");
            }
        }
    }
}

/// A source that was unpacked has no links; if one appears nevertheless, it leads nowhere.
#[cfg(unix)]
#[rstest]
#[case("@git/link/passwd", "")]
#[case("@git/link", "")]
#[case("@git/*/passwd", "")]
#[case("@git/file", "Merge")]
#[case("@git/file.tgz", EXTRACT)]
fn links_are_not_followed(#[case] from: &str, #[case] strategy: &str) {
    let source = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/etc", source.path().join("link")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", source.path().join("file")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", source.path().join("file.tgz")).unwrap();
    let error = staged_from(source.path(), &[with(strategy, from, "@artifact/")]).unwrap_err();
    assert!(error.contains("does not exist") || error.contains("no files match"), "{error}");
}
