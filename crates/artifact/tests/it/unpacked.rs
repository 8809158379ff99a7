//! Archives as trees: in memory or in a folder, the same files.

use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use tar::EntryType;
use weir_artifact::{DirectoryTree, Limits, Tree, Untar, UntarError, archive};

/// Name, kind, content, mode.
type Entry = (String, EntryType, Vec<u8>, u32);

fn tarball(entries: &[Entry]) -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (name, kind, content, mode) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_mode(*mode);
        header.set_size(content.len() as u64);
        tar.append_data(&mut header, name, content.as_slice()).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

fn file(name: &str, content: &[u8]) -> Entry {
    (name.to_owned(), EntryType::Regular, content.to_vec(), 0o644)
}

fn archived(tree: &dyn Tree) -> Vec<u8> {
    let mut bytes = Vec::new();
    archive::write(tree, &|_, _| true, &mut bytes).unwrap();
    bytes
}

/// Returns the content of a folder after unpacking, as the reference for trees.
fn of_folder(tarball: &[u8]) -> Result<Vec<u8>, UntarError> {
    let folder = tempfile::tempdir().unwrap();
    Untar::new(Limits::default()).to_directory(tarball, folder.path())?;
    Ok(archived(&DirectoryTree::open_path(folder.path()).unwrap()))
}

fn of_tree(tarball: &[u8]) -> Result<Vec<u8>, UntarError> {
    Untar::new(Limits::default()).to_tree(tarball).map(|tree| archived(&tree))
}

fn an_entry() -> impl Strategy<Value = Entry> {
    let path = "[ab](/[ab]){0,2}";
    let content = prop::collection::vec(any::<u8>(), 0..9);
    prop_oneof![
        3 => (path, content, prop_oneof![Just(0o644), Just(0o755)])
            .prop_map(|(path, content, mode)| (path, EntryType::Regular, content, mode)),
        1 => path.prop_map(|path| (path, EntryType::Directory, Vec::new(), 0o755)),
    ]
}

proptest! {
    /// Also where a file stands in the way of a directory, and the other way round.
    #[test]
    fn memory_and_folder_agree(entries in prop::collection::vec(an_entry(), 0..6)) {
        let tarball = tarball(&entries);
        let expected = of_folder(&tarball).map_err(|error| error.to_string());
        prop_assert_eq!(of_tree(&tarball).map_err(|error| error.to_string()), expected);
    }
}

#[rstest::rstest]
#[case::much(vec![file("a/one", b"1"), file("large", &vec![7; 1 << 20]), file("z", b"2")])]
#[case::many((0..300).map(|number| file(&format!("{number}/file"), b"content")).collect())]
#[case::twice(vec![file("b", b"long"), ("b".to_owned(), EntryType::Regular, b"b".to_vec(), 0o755)])]
fn what_is_too_much_for_memory_goes_to_a_folder(#[case] entries: Vec<Entry>) {
    let tarball = tarball(&entries);
    assert_eq!(of_tree(&tarball).unwrap(), of_folder(&tarball).unwrap());
}

#[test]
fn what_is_not_there_is_an_error() {
    let tree = Untar::new(Limits::default()).to_tree(tarball(&[file("a/b", b"")]).as_slice()).unwrap();
    let path = |text| weir_artifact::RelPath::parse(text).unwrap();
    assert!(tree.open(&path("a")).is_err() && tree.open(&path("c")).is_err());
    assert!(tree.list(Some(&path("a/b"))).is_err() && tree.list(Some(&path("c"))).is_err());
    assert_eq!(tree.list(Some(&path("a"))).unwrap().len(), 1);
}
