//! Archives that copy from an earlier one: the same bytes, less work (docs/adr/0007).

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, Cursor, Read, Write};
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use weir_artifact::archive::{OpenFile, Previous, Runs, write, write_after};
use weir_artifact::{Opened, RelPath, Tree, TreeEntry, TreeKind};

/// Files in memory whose contents have names, as in Git. Counts how many are opened, and of how many the size is asked.
#[derive(Default)]
pub(crate) struct Named {
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    opened: Cell<usize>,
    asked: Cell<usize>,
}

impl Named {
    pub(crate) fn new(files: BTreeMap<String, Vec<u8>>) -> Self {
        Self { files, ..Self::default() }
    }
}

impl Tree for Named {
    fn list(&self, directory: Option<&RelPath>) -> io::Result<Vec<TreeEntry>> {
        let prefix = directory.map_or(String::new(), |directory| format!("{directory}/"));
        let mut entries: Vec<TreeEntry> = Vec::new();
        for path in self.files.keys().filter_map(|path| path.strip_prefix(&prefix)) {
            let (name, kind) = match path.split_once('/') {
                Some((name, _)) => (name, TreeKind::Directory),
                None => (path, TreeKind::File { executable: path.ends_with(".sh") }),
            };
            if entries.iter().all(|entry| entry.name != name) {
                entries.push(TreeEntry { name: name.to_owned(), kind });
            }
        }
        Ok(entries)
    }

    fn open(&self, path: &RelPath) -> io::Result<OpenFile<'_>> {
        self.opened.set(self.opened.get() + 1);
        let bytes = &self.files[path.as_str()];
        Ok(OpenFile { size: bytes.len() as u64, reader: Box::new(Cursor::new(bytes)) })
    }

    fn size(&self, path: &RelPath) -> io::Result<u64> {
        self.asked.set(self.asked.get() + 1);
        Ok(self.files[path.as_str()].len() as u64)
    }

    fn id(&self, path: &RelPath) -> io::Result<Option<Vec<u8>>> {
        Ok(Some(blake3::hash(&self.files[path.as_str()]).as_bytes().to_vec()))
    }
}

pub(crate) fn fresh(tree: &Named) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(tree, &|_, _| true, &mut bytes).unwrap();
    bytes
}

/// The archive after `previous`, its bytes also in a file for the next one.
fn after(tree: &Named, previous: Option<&Previous>) -> (Vec<u8>, Previous) {
    let mut bytes = Vec::new();
    let runs: Runs = write_after(tree, &|_, _| true, previous, &mut bytes).unwrap();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&bytes).unwrap();
    (bytes, Previous { runs, file: Opened::file(file).unwrap() })
}

/// `count` files of `size` bytes, each with words of its own.
fn many(count: usize, size: usize) -> BTreeMap<String, Vec<u8>> {
    let text = |number: usize| {
        format!("line {number} of many\n").into_bytes().into_iter().cycle().take(size).collect()
    };
    (0..count).map(|number| (format!("d{}/f{number}.yaml", number % 7), text(number))).collect()
}

#[test]
fn only_what_changed_is_read_again() {
    let mut files = many(2000, 3000);
    let (_, previous) = after(&Named::new(files.clone()), None);
    files.insert("d3/f10.yaml".to_owned(), b"changed".to_vec());
    files.insert("d4/new".to_owned(), b"new".to_vec());
    files.remove("d5/f12.yaml");
    let tree = Named::new(files);
    let (copied, _) = after(&tree, Some(&previous));
    // Three changes, each of which costs its run, and at most the runs up to the next end by name.
    assert!(tree.opened.get() < 1000, "{} of 2000 files were opened", tree.opened.get());
    assert_eq!(tree.asked.get(), 2, "the other sizes are known");
    assert!(copied == fresh(&tree));
}

#[test]
fn large_files_are_copied_one_by_one() {
    let mut files = many(20, 1 << 20);
    let (_, previous) = after(&Named::new(files.clone()), None);
    files.insert("d0/f0.yaml".to_owned(), b"small".to_vec());
    let tree = Named::new(files);
    let (copied, _) = after(&tree, Some(&previous));
    assert!(tree.opened.get() <= 2, "{} files were opened", tree.opened.get());
    assert!(copied == fresh(&tree));
}

/// SRC-SCK-9: what was altered on disk does not get into an artifact with a digest of its own.
#[test]
fn an_altered_predecessor_is_noticed() {
    let tree = Named::new(many(50, 3000));
    let (bytes, Previous { runs, .. }) = after(&tree, None);
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&bytes).unwrap();
    let previous = Previous { runs, file: Opened::file(file.try_clone().unwrap()).unwrap() };
    let middle = bytes.len() as u64 / 2;
    file.write_all_at(&[bytes[bytes.len() / 2] ^ 1], middle).unwrap();
    let error = write_after(&tree, &|_, _| true, Some(&previous), io::sink()).unwrap_err();
    assert_eq!(error.to_string(), "the artifact before this one has changed on disk");
    file.set_len(middle).unwrap();
    assert!(write_after(&tree, &|_, _| true, Some(&previous), io::sink()).is_err());
}

/// SRC-STO-8: programs of others read the archive, up to its checksum.
#[test]
fn other_programs_read_it() {
    let mut files = many(300, 3000);
    let (_, previous) = after(&Named::new(files.clone()), None);
    files.insert("a/run.sh".to_owned(), b"#!/bin/sh\n".to_vec());
    let (bytes, _) = after(&Named::new(files.clone()), Some(&previous));
    let run = |program: &str, arguments: &[&str]| {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut input, bytes) = (child.stdin.take().unwrap(), bytes.clone());
        let feeding = std::thread::spawn(move || input.write_all(&bytes));
        let output = child.wait_with_output().unwrap();
        feeding.join().unwrap().unwrap();
        assert!(output.status.success(), "{program}: {:?}", output.status);
        String::from_utf8(output.stdout).unwrap()
    };
    run("gzip", &["-t"]);
    let listed = run("tar", &["-tzf", "-"]);
    let listed: Vec<_> = listed.lines().filter(|name| files.contains_key(*name)).collect();
    assert_eq!(listed.len(), files.len());
}

fn unpacked(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
    // A decoder of one member: the stream must not look like several.
    let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(archive));
    let mut files = BTreeMap::new();
    for entry in tar.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().to_str().unwrap().to_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        if entry.header().entry_type().is_file() {
            files.insert(path, bytes);
        }
    }
    files
}

fn tree() -> impl Strategy<Value = BTreeMap<String, Vec<u8>>> {
    let path = "[a-c]{1,2}(/[d-f]{1,2}){0,2}\\.(x|sh)";
    let size = prop_oneof![8 => 0_usize..2000, 1 => Just(300_000)];
    let content = (any::<u8>(), size).prop_map(|(byte, size)| vec![byte; size]);
    prop::collection::btree_map(path, content, 0..30)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    /// Whatever came before, the bytes are those of an archive that is made from nothing, and a reader of one gzip
    /// member finds every file in them.
    #[test]
    fn copied_or_not_the_bytes_are_the_same(first in tree(), second in tree(), third in tree()) {
        let mut previous: Option<Previous> = None;
        // The last tree has most of the first one's files: what comes back is copied from what lies between.
        let mixed: BTreeMap<_, _> = first.clone().into_iter().chain(third).collect();
        let between: BTreeMap<_, _> = first.clone().into_iter().chain(second).collect();
        for files in [first, between, mixed] {
            let tree = Named::new(files);
            let (bytes, kept) = after(&tree, previous.as_ref());
            prop_assert!(bytes == fresh(&tree));
            prop_assert!(unpacked(&bytes) == tree.files);
            previous = Some(kept);
        }
    }
}
