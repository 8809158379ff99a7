//! Writing: the same tree gives the same bytes, and what comes out again is the tree.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use proptest::prelude::*;
use weir_artifact::{Algorithm, Digest, DirectoryTree, Limits, RelPath, Untar, archive};

pub(crate) fn write_files(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

fn archived(root: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    archive::write(&DirectoryTree::open_path(root).unwrap(), &|_, _| true, &mut bytes).unwrap();
    bytes
}

fn headers(archive: &[u8]) -> Vec<(String, u32, u64, u64)> {
    let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(archive));
    tar.entries()
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let header = entry.header();
            (
                entry.path().unwrap().to_str().unwrap().to_owned(),
                header.mode().unwrap(),
                header.mtime().unwrap(),
                header.uid().unwrap() + header.gid().unwrap(),
            )
        })
        .collect()
}

/// A5, SRC-STO-8.
#[test]
fn names_modes_and_order() {
    let work = tempfile::tempdir().unwrap();
    write_files(work.path(), &[("b.yaml", "b"), ("a/z.sh", "#!"), ("a/x/y", ""), ("a.yaml", "a")]);
    std::fs::set_permissions(work.path().join("a/z.sh"), PermissionsExt::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", work.path().join("link")).unwrap();
    let expected = [
        (".", 0o750),
        ("a", 0o750),
        ("a/x", 0o750),
        ("a/x/y", 0o600),
        ("a/z.sh", 0o700),
        ("a.yaml", 0o600),
        ("b.yaml", 0o600),
    ];
    let expected: Vec<_> = expected.iter().map(|(name, mode)| ((*name).to_owned(), *mode, 0, 0)).collect();
    assert_eq!(headers(&archived(work.path())), expected);
}

#[test]
fn long_names_survive() {
    let work = tempfile::tempdir().unwrap();
    let long = format!("{}/{}é.yaml", "d".repeat(120), "f".repeat(99));
    write_files(work.path(), &[(&long, "text")]);
    let files = Untar::new(Limits::default()).to_map(archived(work.path()).as_slice()).unwrap();
    assert_eq!(files[&RelPath::parse(&long).unwrap()].bytes, "text");
}

#[test]
fn directories_left_out_may_have_files_that_stay() {
    let work = tempfile::tempdir().unwrap();
    write_files(work.path(), &[("deploy/sub/keep", "k"), ("deploy/sub/drop", "d")]);
    let mut bytes = Vec::new();
    let keep =
        |path: &RelPath, _directory| !path.as_str().starts_with("deploy/sub") || path.file_name() == "keep";
    archive::write(&DirectoryTree::open_path(work.path()).unwrap(), &keep, &mut bytes).unwrap();
    let names: Vec<_> = headers(&bytes).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, [".", "deploy", "deploy/sub/keep"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    /// Archived files come out again, and archiving them once more gives the same bytes.
    #[test]
    fn round_trip(files in prop::collection::btree_map("[a-c]{1,2}(/[d-f]{1,2}){0,2}\\.x", "[ -~]{0,40}", 0..8)) {
        let work = tempfile::tempdir().unwrap();
        let list: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        write_files(work.path(), &list);
        let first = archived(work.path());
        let unpacked = tempfile::tempdir().unwrap();
        Untar::new(Limits::default()).to_directory(first.as_slice(), unpacked.path()).unwrap();
        let map = Untar::new(Limits::default()).to_map(first.as_slice()).unwrap();
        let seen: BTreeMap<_, _> = map.iter().map(|(path, file)| {
            let mut text = String::new();
            file.bytes.as_ref().read_to_string(&mut text).unwrap();
            (path.to_string(), text)
        }).collect();
        prop_assert_eq!(seen, files);
        prop_assert_eq!(archived(unpacked.path()), first);
    }
}

/// Digests of the archive of [`golden_tree`], before and after compression.
const GOLDEN_TAR: &str = "sha256:6b85cd5e3e1fb996bfa48a894ae78053adb1c0f877f3a8e393b31fca6b5ef3cf";
const GOLDEN_ARCHIVE: &str = "sha256:b5af2873796b7b67eeabc19be809505d3948464d91df39dcba49d2e1dd8878a1";

/// Writes files of all kinds that a tarball and a compressor treat differently: empty, repeating, without any order, larger
/// than a run of entries, executable, with long names.
fn golden_tree(root: &Path) {
    let mut state = 1_u32;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b' ' + (state >> 24) as u8 % 95)
    });
    let noise: String = noise.take(300_000).collect();
    let manifest =
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: golden\ndata:\n  key: value\n".repeat(4_000);
    let long = format!("{}/{}é.yaml", "d".repeat(120), "f".repeat(99));
    let files = [
        ("empty", ""),
        ("a/manifests.yaml", &manifest),
        ("a/noise", &noise),
        ("run.sh", "#!/bin/sh\n"),
        (&long, "x\n"),
    ];
    write_files(root, &files);
    std::fs::set_permissions(root.join("run.sh"), PermissionsExt::from_mode(0o755)).unwrap();
}

/// When this fails, every artifact of every cluster gets a new digest with the next release, and everything that depends on
/// one is applied again. If that is meant (another compressor, another level, another order), write the new digests here
/// and a line in CHANGELOG.md.
#[test]
fn the_bytes_of_an_archive_are_pinned() {
    let work = tempfile::tempdir().unwrap();
    golden_tree(work.path());
    let archive = archived(work.path());
    let mut tar = Vec::new();
    flate2::read::GzDecoder::new(archive.as_slice()).read_to_end(&mut tar).unwrap();
    let digest = |bytes: &[u8]| Digest::of(Algorithm::Sha256, bytes).to_string();
    assert_eq!(digest(&tar), GOLDEN_TAR, "the tarball");
    assert_eq!(digest(&archive), GOLDEN_ARCHIVE, "the tarball is as it was, the compressor is not");
}

/// CLI-ART01, CLI-ART09.
#[test]
fn packed_files_keep_their_permissions_and_are_compared_by_content() {
    let work = tempfile::tempdir().unwrap();
    write_files(work.path(), &[("b.yaml", "b"), ("a/z.sh", "#!")]);
    for (name, mode) in [("", 0o755), ("a", 0o750), ("a/z.sh", 0o711), ("b.yaml", 0o644)] {
        std::fs::set_permissions(work.path().join(name), PermissionsExt::from_mode(mode)).unwrap();
    }
    std::os::unix::fs::symlink("/etc/passwd", work.path().join("link")).unwrap();
    let pack = |path: &Path| {
        let mut bytes = Vec::new();
        archive::pack(path, &|_, _| true, &mut bytes).unwrap();
        bytes
    };
    let packed = pack(work.path());
    let expected = [(".", 0o755), ("a", 0o750), ("a/z.sh", 0o711), ("b.yaml", 0o644)];
    let expected: Vec<_> = expected.iter().map(|(name, mode)| ((*name).to_owned(), *mode, 0, 0)).collect();
    assert_eq!(headers(&packed), expected);
    let one = [(".".to_owned(), 0o700, 0, 0), ("b.yaml".to_owned(), 0o644, 0, 0)];
    assert_eq!(headers(&pack(&work.path().join("b.yaml"))), one);
    // A pipe has no length before its end.
    let (pipe, mut writer) = std::io::pipe().unwrap();
    writer.write_all(b"piped").unwrap();
    drop(writer);
    let piped = pack(Path::new(&format!("/proc/self/fd/{}", pipe.as_raw_fd())));
    let mut unpacked = tar::Archive::new(flate2::read::GzDecoder::new(piped.as_slice()));
    let mut content = String::new();
    unpacked.entries().unwrap().nth(1).unwrap().unwrap().read_to_string(&mut content).unwrap();
    assert_eq!(content, "piped");

    let untar = Untar::new(Limits::default());
    assert!(untar.is_same(packed.as_slice(), pack(work.path()).as_slice()).unwrap());
    let copy = tempfile::tempdir().unwrap();
    untar.permissions().to_directory(packed.as_slice(), copy.path()).unwrap();
    std::fs::set_permissions(copy.path(), PermissionsExt::from_mode(0o755)).unwrap();
    assert!(untar.is_same(packed.as_slice(), pack(copy.path()).as_slice()).unwrap());
    for change in [("b.yaml", "c"), ("c.yaml", "")] {
        write_files(copy.path(), &[change]);
        assert!(!untar.is_same(packed.as_slice(), pack(copy.path()).as_slice()).unwrap());
    }
    untar.is_same(packed.as_slice(), &b"no gzip"[..]).unwrap_err();
}
