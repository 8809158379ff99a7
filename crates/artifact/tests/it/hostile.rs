//! Archives that nobody should unpack (SRC-SCK-1, SRC-SCK-10).

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use rstest::rstest;
use tar::EntryType;
use weir_artifact::{Limits, RelPath, Symlinks, Untar, UntarError};

struct Entry {
    name: Vec<u8>,
    kind: EntryType,
    link: &'static str,
    content: Vec<u8>,
}

fn file(name: &str, content: &[u8]) -> Entry {
    Entry { name: name.into(), kind: EntryType::Regular, link: "", content: content.into() }
}

fn entry(name: &str, kind: EntryType, link: &'static str) -> Entry {
    Entry { name: name.into(), kind, link, content: Vec::new() }
}

/// A tarball with names exactly as given; the tar crate's own writer would refuse them.
fn tarball(entries: &[Entry]) -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for entry in entries {
        let mut header = tar::Header::new_ustar();
        header.as_old_mut().name[..entry.name.len()].copy_from_slice(&entry.name);
        header.as_old_mut().linkname[..entry.link.len()].copy_from_slice(entry.link.as_bytes());
        header.set_entry_type(entry.kind);
        header.set_mode(0o6777);
        header.set_size(entry.content.len() as u64);
        header.set_cksum();
        tar.append(&header, entry.content.as_slice()).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

fn unpack(archive: &[u8], limits: Limits) -> Result<Vec<String>, UntarError> {
    let files = Untar::new(limits).symlinks(Symlinks::Reject).to_map(archive)?;
    Ok(files.keys().map(ToString::to_string).collect())
}

/// DEV 12, SRC-SCK-1, SRC-STO-18.
#[rstest]
#[case::parent("../evil")]
#[case::parent_inside("a/../../evil")]
#[case::absolute("/etc/cron.d/evil")]
#[case::backslash("..\\evil")]
fn names_that_lead_out(#[case] name: &str) {
    let error = unpack(&tarball(&[file(name, b"x")]), Limits::default()).unwrap_err();
    assert_eq!(error.to_string(), format!("tar contained invalid name error \"{name}\""));
}

/// DEV 12: hard links are refused in words.
#[rstest]
#[case::hard_link(EntryType::Link)]
#[case::device(EntryType::Block)]
#[case::fifo(EntryType::Fifo)]
fn kinds_that_are_no_files(#[case] kind: EntryType) {
    let error = unpack(&tarball(&[entry("x", kind, "/etc/passwd")]), Limits::default()).unwrap_err();
    assert!(matches!(error, UntarError::Kind { .. }), "{error}");
}

#[test]
fn symlinks_are_rejected_or_left_out() {
    let archive = tarball(&[entry("out", EntryType::Symlink, "/etc"), file("a", b"a")]);
    let error = unpack(&archive, Limits::default()).unwrap_err();
    assert_eq!(error.to_string(), "tar file entry out is a symlink, which is not allowed in this context");
    let files = Untar::new(Limits::default()).to_map(archive.as_slice()).unwrap();
    assert_eq!(files.len(), 1);
}

#[test]
fn writing_through_a_symlink_stays_inside() {
    let outside = tempfile::tempdir().unwrap();
    let inside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), inside.path().join("out")).unwrap();
    let archive = tarball(&[file("out/evil", b"x")]);
    let error = Untar::new(Limits::default()).to_directory(archive.as_slice(), inside.path()).unwrap_err();
    assert!(matches!(error, UntarError::Write { .. }), "{error}");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[rstest]
#[case::all_files_together(Limits { unpacked: 10, ..Limits::default() })]
#[case::one_file(Limits { file: 4, ..Limits::default() })]
#[case::number_of_entries(Limits { entries: 2, ..Limits::default() })]
#[case::depth(Limits { depth: 2, ..Limits::default() })]
fn beyond_a_cap(#[case] limits: Limits) {
    let archive = tarball(&[file("a", b"12345"), file("b", b"12345"), file("c/d/e", b"12345")]);
    assert!(unpack(&archive, limits).is_err());
    assert_eq!(unpack(&archive, Limits::default()).unwrap(), ["a", "b", "c/d/e"]);
}

#[test]
fn headers_that_want_all_memory() {
    let name = Entry {
        name: b"././@LongLink".to_vec(),
        kind: EntryType::GNULongName,
        link: "",
        content: vec![b'n'; 8 << 20],
    };
    let error = unpack(&tarball(&[name, file("a", b"a")]), Limits::default()).unwrap_err();
    assert!(error.to_string().contains("headers are too large"), "{error}");
}

#[rstest]
#[case::not_gzip(b"PK\x03\x04 something".to_vec(), "requires gzip-compressed body: gzip: invalid header")]
#[case::short(b"junk".to_vec(), "requires gzip-compressed body: unexpected EOF")]
#[case::empty(Vec::new(), "requires gzip-compressed body: EOF")]
fn not_gzip(#[case] bytes: Vec<u8>, #[case] message: &str) {
    assert_eq!(unpack(&bytes, Limits::default()).unwrap_err().to_string(), message);
}

#[test]
fn damaged_streams() {
    let good = tarball(&[file("a", &[7; 5000])]);
    let mut cut = good.clone();
    cut.truncate(good.len() - 6);
    let mut continued = good.clone();
    continued.write_all(b"garbage behind the end").unwrap();
    let mut flipped = good.clone();
    let middle = good.len() - 5;
    flipped[middle] ^= 0xff;
    for damaged in [cut, continued, flipped] {
        let error = unpack(&damaged, Limits::default()).unwrap_err();
        assert!(matches!(error, UntarError::Corrupt { .. }), "{error}");
    }
    assert!(unpack(&good, Limits::default()).is_ok());
}

#[test]
fn modes_keep_only_the_execute_bit() {
    let work = tempfile::tempdir().unwrap();
    let archive = tarball(&[file("setuid", b"#!")]);
    Untar::new(Limits::default()).to_directory(archive.as_slice(), work.path()).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(work.path().join("setuid")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o7777, 0o700);
    assert!(
        Untar::new(Limits::default()).to_map(archive.as_slice()).unwrap()[&RelPath::parse("setuid").unwrap()]
            .executable
    );
}
