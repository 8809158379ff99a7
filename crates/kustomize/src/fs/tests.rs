use rstest::rstest;

use super::{FileKind, FileSystem, FsError, FsPath, MemoryFs, RootedFs};

fn path(text: &str) -> FsPath {
    FsPath::new(text).unwrap()
}

#[rstest]
#[case("./a//b/../c/", "/a/c")]
#[case("/", "/")]
#[case("a/./b", "/a/b")]
fn paths_are_cleaned(#[case] text: &str, #[case] wanted: &str) {
    assert_eq!(path(text).to_string(), wanted);
}

#[test]
fn paths_never_leave_the_root() {
    assert!(matches!(FsPath::new("a/../../b"), Err(FsError::Escapes { .. })));
    assert!(path("a").join("../..").is_err());
}

#[test]
fn prefixes_count_by_segment() {
    assert!(path("aws/x").is_in_or_below(&path("aws")));
    assert!(!path("aws-nonprod").is_in_or_below(&path("aws")));
    assert!(path("x").is_in_or_below(&FsPath::root()));
    assert_eq!(path("a/b").relative_to(&path("a/c/d")), "../../b");
}

fn on_disk() -> (tempfile::TempDir, RootedFs) {
    let outside = tempfile::tempdir().unwrap();
    let root = outside.path().join("root");
    std::fs::create_dir_all(root.join("dir")).unwrap();
    std::fs::write(outside.path().join("secret"), "s").unwrap();
    std::fs::write(root.join("dir/file"), "12345").unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret"), root.join("leak")).unwrap();
    std::os::unix::fs::symlink("dir/file", root.join("inside")).unwrap();
    std::os::unix::fs::symlink("../..", root.join("dir/up")).unwrap();
    let fs = RootedFs::new(&root).unwrap();
    (outside, fs)
}

#[test]
fn symlinks_out_of_the_root_are_refused() {
    let (_keep, fs) = on_disk();
    let error = fs.read(&path("leak"), 100).unwrap_err().to_string();
    assert_eq!(error, "fs-security-constraint read /leak: path '/leak' is not in or below '/'");
    assert!(fs.read(&path("dir/up/secret"), 100).is_err());
    assert!(!fs.is_file(&path("leak")) && !fs.is_dir(&path("dir/up")));
    let names: Vec<_> = fs.list(&FsPath::root()).unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["dir", "inside"]);
}

#[test]
fn symlinks_inside_the_root_are_followed() {
    let (_keep, fs) = on_disk();
    assert_eq!(fs.read(&path("inside"), 100).unwrap(), b"12345");
    assert_eq!(fs.resolve(&path("inside")).unwrap(), (path("dir/file"), FileKind::File));
}

#[test]
fn files_above_the_cap_are_not_read() {
    let (_keep, fs) = on_disk();
    assert!(fs.read(&path("dir/file"), 5).is_ok());
    assert!(matches!(fs.read(&path("dir/file"), 4), Err(FsError::TooLarge { limit: 4, .. })));
    let memory = MemoryFs::from_files([("a/b", "12345"), ("a-c", "")]).unwrap();
    assert!(matches!(memory.read(&path("a/b"), 4), Err(FsError::TooLarge { .. })));
    assert!(matches!(memory.read(&path("a"), 4), Err(FsError::IsDirectory { .. })));
    assert_eq!(memory.list(&path("a")).unwrap().len(), 1);
}
