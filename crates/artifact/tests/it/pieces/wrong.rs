//! Faults: altered files, full disks, names that lead elsewhere, writes that fail.

use std::fs::File;
use std::io::Error;
use std::os::unix::fs::FileExt;
use std::path::Path;

use weir_artifact::{Store, StoreError, VerifyError};

use super::{Disk, bytes_of, fill, location, options};

/// Alters a byte, and gives the file back its time.
fn alter(path: &Path) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let written = file.metadata().unwrap().modified().unwrap();
    let (middle, mut byte) = (file.metadata().unwrap().len() / 2, [0]);
    file.read_exact_at(&mut byte, middle).unwrap();
    file.write_all_at(&[byte[0] ^ 1], middle).unwrap();
    file.set_modified(written).unwrap();
}

/// SRC-SCK-9: also of an artifact that is large enough to be remembered, and after links to its pieces came and went.
#[test]
fn an_altered_piece_is_noticed_whatever_its_times_say() {
    let disk = Disk::new();
    let mut runs: Vec<u32> = (0..600).collect();
    let first = disk.put("1", &runs, None);
    runs[300] = 1000;
    let second = disk.put("2", &runs, Some(&first));
    assert!(second.stored.size > 16 << 20, "{} bytes", second.stored.size);
    disk.verify(&second).unwrap();
    assert_eq!(disk.store.collect(&location(), Some("2")).unwrap(), 1);
    disk.verify(&second).unwrap();
    let pieces = disk.pieces(&second);
    alter(&pieces[pieces.len() / 2]);
    assert!(matches!(disk.verify(&second), Err(VerifyError::Mismatch { .. })));
    alter(&pieces[pieces.len() / 2]);
    disk.verify(&second).unwrap();
    disk.verify(&second).unwrap();
    std::fs::remove_file(pieces.last().unwrap()).unwrap();
    assert!(matches!(disk.verify(&second), Err(VerifyError::Mismatch { .. })));
    std::fs::remove_file(&pieces[0]).unwrap();
    assert!(matches!(disk.verify(&second), Err(VerifyError::Missing)));
}

/// The bytes hashed are the bytes stored, also when an old piece changes in between.
#[test]
fn a_piece_that_changes_while_it_is_taken_over_is_noticed() {
    let disk = Disk::new();
    let first = disk.put("1", &(0..40).collect::<Vec<_>>(), None);
    let (opened, piece) = (disk.open(&first), &disk.pieces(&first)[1]);
    for runs in [(0..40).collect::<Vec<u32>>(), (0..12).chain(100..120).collect()] {
        let result = disk.store.write(&location(), "2", |out| {
            alter(piece);
            fill(out, &runs, Some((&opened, &first)))
        });
        let message = result.unwrap_err().to_string();
        assert!(message.ends_with("the artifact before this one has changed on disk"), "{message}");
        assert_eq!(disk.names(), ["1.pieces"]);
    }
}

/// The file that now has the name of a piece is not the piece.
#[test]
fn a_piece_whose_name_leads_elsewhere_is_not_taken_over() {
    let disk = Disk::new();
    let runs: Vec<u32> = (0..40).collect();
    let first = disk.put("1", &runs, None);
    let (opened, piece) = (disk.open(&first), &disk.pieces(&first)[1]);
    std::fs::write(disk.object().join("other"), "other").unwrap();
    std::fs::rename(disk.object().join("other"), piece).unwrap();
    let result = disk.store.write(&location(), "2", |out| fill(out, &runs, Some((&opened, &first))));
    let message = result.unwrap_err().to_string();
    assert!(message.ends_with("the artifact before this one has changed on disk"), "{message}");
    assert_eq!(disk.names(), ["1.pieces"]);
}

/// As on a file system without links.
#[test]
fn pieces_that_cannot_be_linked_are_copied() {
    let Some((folder, _mounted)) = crate::storing::small_disk("8m") else { return };
    let store = Store::open(folder.path(), options()).unwrap();
    let (other, disk) = (Disk::new(), Disk { folder, store });
    let mut runs: Vec<u32> = (0..80).collect();
    let first = other.put("1", &runs, None);
    runs[40] = 1000;
    let opened = other.open(&first);
    let stored = disk.store.write(&location(), "2", |out| fill(out, &runs, Some((&opened, &first)))).unwrap();
    let second = super::Written::new(stored, &runs);
    disk.assert_whole(&second);
    let sizes = |pieces: Vec<std::path::PathBuf>| -> Vec<u64> {
        pieces.iter().map(|path| path.metadata().unwrap().len()).collect()
    };
    let (old, new) = (sizes(other.pieces(&first)), sizes(disk.pieces(&second)));
    assert!(old[..3] == new[..3] && old.len() == new.len(), "they end where they did: {old:?}, {new:?}");
}

#[test]
fn a_failed_write_leaves_what_was_there() {
    let disk = Disk::new();
    let runs: Vec<u32> = (0..60).collect();
    let first = disk.put("1", &runs, None);
    for file in ["1", "2"] {
        let opened = disk.open(&first);
        let result = disk.store.write(&location(), file, |out| {
            fill(out, &runs, Some((&opened, &first)))?;
            out.write_all(&bytes_of(1000))?;
            Err(Error::other("no more"))
        });
        assert_eq!(result.unwrap_err().to_string(), "unable to archive artifact to storage: no more");
        assert_eq!(disk.names(), ["1.pieces"]);
    }
    disk.assert_whole(&first);
}

/// SRC-SCK-10. Shared pieces need no room.
#[test]
fn a_full_disk_leaves_the_old_pieces_and_takes_what_shares_them() {
    let Some((folder, _mounted)) = crate::storing::small_disk("4m") else { return };
    let store = Store::open(folder.path(), options()).unwrap();
    let disk = Disk { folder, store };
    let mut runs: Vec<u32> = (0..70).collect();
    let first = disk.put("1", &runs, None);
    let other: Vec<u32> = (1000..1070).collect();
    let error = disk.store.write(&location(), "2", |out| fill(out, &other, None)).unwrap_err();
    let StoreError::Write { source } = error else { panic!("{error}") };
    assert_eq!(source.kind(), std::io::ErrorKind::StorageFull);
    assert_eq!(disk.names(), ["1.pieces"]);
    runs[30] = 1000;
    let second = disk.put("2", &runs, Some(&first));
    for artifact in [first, second] {
        disk.assert_whole(&artifact);
    }
}

/// Only the store's own directories are artifacts.
#[test]
fn other_directories_are_no_artifacts() {
    let disk = Disk::new();
    disk.put("1", &[1], None);
    std::fs::create_dir_all(disk.object().join("folder/00000000")).unwrap();
    std::fs::create_dir_all(disk.object().join("empty.pieces")).unwrap();
    std::fs::create_dir_all(disk.object().join("deep.pieces/00000000")).unwrap();
    std::fs::create_dir_all(disk.object().join("x.partial")).unwrap();
    std::fs::write(disk.object().join("x.partial/00000000"), "x").unwrap();
    for name in ["folder", "empty", "deep", "empty.pieces", "x.partial"] {
        let error = disk.store.open_file(&location().file(name).unwrap()).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{name}");
    }
}
