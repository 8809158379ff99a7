//! Shared pieces, and the proof that sharing makes no difference to the bytes.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use proptest::prelude::*;
use weir_artifact::archive::{Previous, Sink, write_after};
use weir_artifact::{Algorithm, Digest, Store, StoreOptions};

use super::{Disk, PIECE, Written, fill, inodes, location, names, options};
use crate::runs::{Named, fresh};

#[test]
fn what_did_not_change_lies_on_the_disk_once() {
    let disk = Disk::new();
    let runs: Vec<u32> = (0..200).collect();
    let first = disk.put("1", &runs, None);
    let old = disk.pieces(&first);
    assert!(old.len() > 15, "{} pieces", old.len());
    let sizes: Vec<_> = old.iter().map(|path| path.metadata().unwrap().len() as usize).collect();
    assert!(sizes.iter().rev().skip(1).all(|size| (PIECE..PIECE + PIECE / 2).contains(size)), "{sizes:?}");
    for (path, mode) in
        old.iter().map(|path| (path.as_path(), 0o600)).chain([(old[0].parent().unwrap(), 0o700)])
    {
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, mode);
    }

    let mut changed = runs.clone();
    changed[100] = 1000;
    let second = disk.put("2", &changed, Some(&first));
    let (old, new) = (inodes(&old), inodes(&disk.pieces(&second)));
    // The piece with the change, and the last one with what ends the archive.
    assert_eq!(new.len(), old.len());
    assert_eq!(new.iter().filter(|inode| !old.contains(inode)).count(), 2);
    for artifact in [&first, &second] {
        disk.assert_whole(artifact);
    }
}

/// Whatever comes and goes, the number of pieces stays that of an artifact made at once, or twice that, and all but a few
/// are shared.
#[test]
fn many_changes_leave_neither_many_pieces_nor_large_ones() {
    let disk = Disk::new();
    let mut runs: Vec<u32> = (0..200).collect();
    let mut last = disk.put("first", &runs, None);
    let at_once = disk.pieces(&last).len();
    for round in 0..24_u32 {
        let place = (round as usize * 37) % runs.len();
        match round % 4 {
            0 => runs.insert(place, 1000 + round),
            1 => drop(runs.remove(place)),
            2 => drop(runs.splice(place..place, 2000 + round * 20..2010 + round * 20)),
            _ => drop(runs.drain(place..runs.len().min(place + 10))),
        }
        let old = inodes(&disk.pieces(&last));
        let next = disk.put(&round.to_string(), &runs, Some(&last));
        let new = inodes(&disk.pieces(&next));
        let fresh = new.iter().filter(|inode| !old.contains(inode)).count();
        assert!(fresh <= 4, "{fresh} of {} pieces were written in round {round}", new.len());
        assert!(new.len() <= at_once * 2, "{} pieces after round {round}, {at_once} at first", new.len());
        let sizes: Vec<_> = disk.pieces(&next).iter().map(|path| path.metadata().unwrap().len()).collect();
        assert!(sizes.iter().all(|size| *size < 4 * PIECE as u64), "{sizes:?}");
        disk.assert_whole(&next);
        disk.store.collect(&location(), Some(&round.to_string())).unwrap();
        last = next;
    }
}

/// Pieces become larger as they become more: a reader opens all of them.
#[test]
fn huge_artifacts_have_a_limited_number_of_pieces() {
    let disk = Disk::new();
    let store = Store::open(disk.folder.path(), StoreOptions { piece_bytes: 4096, ..options() }).unwrap();
    let runs: Vec<u32> = (0..400).collect();
    let stored = store.write(&location(), "1", |out| fill(out, &runs, None)).unwrap();
    let first = Written::new(stored, &runs);
    let pieces = disk.pieces(&first);
    assert_eq!(pieces.len(), 256);
    disk.assert_whole(&first);
    // Something new before each of the last pieces that may be shared.
    for number in 250..256 {
        let before: u64 = pieces[..number].iter().map(|path| path.metadata().unwrap().len()).sum();
        let mut runs = runs.clone();
        runs.insert(runs.iter().position(|run| first.places[run] == before).unwrap(), 5000);
        let opened = disk.open(&first);
        let stored = store.write(&location(), "2", |out| fill(out, &runs, Some((&opened, &first)))).unwrap();
        let second = Written::new(stored, &runs);
        assert!(disk.pieces(&second).len() <= 256, "{} pieces", disk.pieces(&second).len());
        disk.assert_whole(&second);
    }
}

#[test]
fn what_moves_is_shared_too() {
    let disk = Disk::new();
    let runs: Vec<u32> = (0..100).collect();
    let first = disk.put("1", &runs, None);
    let moved: Vec<u32> = (50..100).chain(0..50).collect();
    let second = disk.put("2", &moved, Some(&first));
    let (old, new) = (inodes(&disk.pieces(&first)), inodes(&disk.pieces(&second)));
    assert!(new.iter().filter(|inode| old.contains(inode)).count() + 5 >= new.len());
    disk.assert_whole(&second);
}

#[test]
fn small_artifacts_are_files() {
    let disk = Disk::new();
    let small: Vec<u32> = (0..6).collect();
    let first = disk.put("1", &small, None);
    assert!(disk.object().join("1").is_file());
    let second = disk.put("2", &(0..30).collect::<Vec<_>>(), Some(&first));
    assert!(disk.object().join("2.pieces").is_dir());
    let third = disk.put("3", &small, Some(&second));
    assert!(disk.object().join("3").is_file());
    for artifact in [first, second, third] {
        disk.assert_whole(&artifact);
    }
}

/// Any part of it is to be had.
#[test]
fn pieces_are_read_as_one() {
    let disk = Disk::new();
    let written = disk.put("1", &(0..60).collect::<Vec<_>>(), None);
    let (bytes, opened) = (written.bytes(), disk.open(&written));
    assert_eq!(opened.size(), bytes.len() as u64);
    for start in (0..bytes.len()).step_by(99_991) {
        let mut part = vec![0; 400_000.min(bytes.len() - start)];
        opened.read_exact_at(&mut part, start as u64).unwrap();
        assert!(part == bytes[start..start + part.len()], "from {start}");
    }
    assert_eq!(opened.read_at(&mut [0; 10], bytes.len() as u64).unwrap(), 0);
    assert!(opened.read_exact_at(&mut [0; 10], bytes.len() as u64 - 9).is_err());
}

/// A file of which a quarter cannot be compressed.
fn content(seed: u32, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes[..size / 4]);
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5))]
    /// Real archives, one after the other: each is stored as it is when it is made from nothing, and those before it stay.
    #[test]
    fn stored_archives_are_those_that_are_made_from_nothing(
        changes in prop::collection::vec(prop::collection::vec((0_u32..60, 0_u32..4), 0..6), 1..4),
    ) {
        let disk = Disk::new();
        let store = Store::open(disk.folder.path(), StoreOptions { piece_bytes: 64 << 10, ..options() }).unwrap();
        let name = |number: u32| format!("d{}/f{number}", number % 5);
        let mut files: BTreeMap<_, _> = (0..60).map(|number| (name(number), content(number, 32_000))).collect();
        let (mut previous, mut all) = (None, Vec::new());
        let rounds = [Vec::new()].into_iter().chain(changes).chain([Vec::new()]);
        for (round, changes) in rounds.enumerate() {
            for (number, size) in changes {
                match size {
                    0 => drop(files.remove(&name(number))),
                    _ => drop(files.insert(name(number), content(number + 1000, size as usize * 20_000))),
                }
            }
            let tree = Named::new(files.clone());
            let mut runs = None;
            let write = |out: &mut dyn Sink| {
                runs = Some(write_after(&tree, &|_, _| true, previous.as_ref(), out)?);
                Ok(())
            };
            let stored = store.write(&location(), &round.to_string(), write).unwrap();
            let bytes = fresh(&tree);
            prop_assert_eq!(&stored.digest, &Digest::of(Algorithm::Blake3, &bytes));
            previous = Some(Previous { runs: runs.unwrap(), file: store.open_file(&stored.path).unwrap() });
            all.push((stored, bytes));
        }
        // In the last round nothing has changed.
        let last = disk.object().join(format!("{}.pieces", all.len() - 1));
        let pieces = names(&last);
        let shared = pieces.iter().filter(|name| last.join(name).metadata().unwrap().nlink() > 1).count();
        prop_assert!(pieces.len() > 2 && shared == pieces.len() - 1, "{} of {} pieces", shared, pieces.len());
        for (stored, bytes) in all {
            let mut read = Vec::new();
            store.open_file(&stored.path).unwrap().read_to_end(&mut read).unwrap();
            prop_assert!(read == bytes);
        }
    }
}
