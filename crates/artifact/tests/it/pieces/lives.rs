//! Artifacts in pieces come, are replaced, are read meanwhile, and go.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use weir_artifact::{STEPS, Store, StoreOptions};

use super::{Disk, Written, fill, location, options};

fn large(seed: u32) -> Vec<u32> {
    (seed..seed + 40).collect()
}

/// The same revision, made anew, of whichever form either is.
#[test]
fn an_artifact_takes_the_place_of_another() {
    let disk = Disk::new();
    let forms = [
        (large(0), "1.pieces"),
        (large(10), "1.pieces"),
        (vec![1], "1"),
        (vec![2], "1"),
        (large(20), "1.pieces"),
    ];
    let mut last: Option<Written> = None;
    for (runs, name) in forms {
        let written = disk.put("1", &runs, last.as_ref());
        disk.assert_whole(&written);
        assert_eq!(disk.names(), [name], "nothing is left of the old one");
        last = Some(written);
    }
}

#[test]
fn what_goes_takes_nothing_that_is_shared() {
    let disk = Disk::new();
    let first = disk.put("1", &large(0), None);
    drop(disk.store.lock(&location(), "1").unwrap());
    let second = disk.put("2", &large(5), Some(&first));
    let shared = |pieces: &[std::path::PathBuf]| {
        pieces.iter().filter(|path| path.metadata().unwrap().nlink() > 1).count()
    };
    assert!(shared(&disk.pieces(&second)) > 1);
    // SRC-STO-17
    let mut reading = disk.open(&first);
    assert_eq!(disk.store.collect(&location(), Some("2")).unwrap(), 1);
    assert_eq!(disk.names(), ["2.pieces"]);
    assert_eq!(shared(&disk.pieces(&second)), 0);
    disk.assert_whole(&second);
    let mut bytes = Vec::new();
    reading.read_to_end(&mut bytes).unwrap();
    assert!(bytes == first.bytes());

    disk.store.remove(&location(), second.stored.path.as_str()).unwrap();
    assert!(disk.names().is_empty());
    disk.store.remove(&location(), second.stored.path.as_str()).unwrap();
    disk.put("3", &large(0), None);
    assert!(disk.store.remove_object(&location()).unwrap());
    assert!(!disk.object().exists());
}

/// DEV 13: the newest ones, by the time at which they were finished.
#[test]
fn retention_counts_both_forms() {
    let disk = Disk::new();
    let store = Store::open(disk.folder.path(), StoreOptions { records: 2, ..options() }).unwrap();
    let artifacts = [
        ("1", "1.pieces", large(0), 4000),
        ("2", "2", vec![1], 3000),
        ("3", "3.pieces", large(100), 2000),
        ("4", "4", vec![2], 1000),
    ];
    for (file, name, runs, age) in artifacts {
        disk.put(file, &runs, None);
        let time = SystemTime::now() - Duration::from_secs(age);
        std::fs::File::open(disk.object().join(name)).unwrap().set_modified(time).unwrap();
    }
    assert_eq!(store.collect(&location(), Some("4")).unwrap(), 2);
    assert_eq!(disk.names(), ["3.pieces", "4"]);
    assert_eq!(store.collect(&location(), Some("3")).unwrap(), 0);
}

#[test]
fn pieces_of_a_killed_write_are_swept() {
    let disk = Disk::new();
    let written = disk.put("1", &large(0), None);
    for (name, age) in [("2.9-9.pieces.partial", 7200), ("3.9-9.pieces.partial", 60)] {
        let partial = disk.object().join(name);
        std::fs::create_dir(&partial).unwrap();
        std::fs::hard_link(&disk.pieces(&written)[0], partial.join("00000000")).unwrap();
        let time = SystemTime::now() - Duration::from_secs(age);
        std::fs::File::open(&partial).unwrap().set_modified(time).unwrap();
    }
    let sweep = || disk.store.sweep("gitrepository", &|_, _| true, Duration::ZERO, SystemTime::now());
    assert_eq!(sweep().unwrap(), 0);
    assert_eq!(disk.names(), ["1.pieces", "3.9-9.pieces.partial"], "what may still be written stays");
    disk.assert_whole(&written);
}

/// Whoever opens an artifact while it is replaced or removed gets all of it, or none.
#[test]
fn an_artifact_is_opened_whole_or_not_at_all() {
    let disk = Disk::new();
    let (path, done) = (location().file("1").unwrap(), AtomicBool::new(false));
    let forms = [large(0), large(100), vec![1]];
    let sizes: Vec<_> = forms.each_ref().map(|runs| disk.put("1", runs, None).stored.size).into();
    let opened = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut opened = 0;
            while !done.load(Ordering::Relaxed) {
                if let Ok(artifact) = disk.store.open_file(&path) {
                    assert!(sizes.contains(&artifact.size()), "{} is none of {sizes:?}", artifact.size());
                    opened += 1;
                }
            }
            opened
        });
        for (round, runs) in (0..60).zip(forms.iter().cycle()) {
            disk.put("1", runs, None);
            if round % 4 == 0 {
                disk.store.remove(&location(), path.as_str()).unwrap();
            }
        }
        done.store(true, Ordering::Relaxed);
        reader.join().unwrap()
    });
    assert!(opened > 0);
}

#[test]
fn the_steps_of_a_replacement_are_told_in_order() {
    static SEEN: Mutex<Vec<&str>> = Mutex::new(Vec::new());
    let disk = Disk::new();
    disk.put("1", &large(0), None);
    let step = |name| SEEN.lock().push(name);
    let store = Store::open(disk.folder.path(), StoreOptions { step, ..options() }).unwrap();
    store.write(&location(), "1", |out| fill(out, &large(100), None)).unwrap();
    store.link(&location(), "latest.tar.gz", "1").unwrap();
    let mut seen = SEEN.lock();
    let pieces = seen.iter().filter(|step| **step == "store-piece").count();
    assert!(pieces > 3, "{seen:?}");
    seen.dedup();
    assert_eq!(seen[..], STEPS);
}

/// In a container every process has the same number: what one left that was killed must not be in the way of the next.
#[test]
fn what_was_left_by_a_process_of_the_same_number_is_in_nobodys_way() {
    let disk = Disk::new();
    disk.put("0", &[1], None);
    for number in 0..8 {
        let left = disk.object().join(format!("1.{}-{number}", std::process::id()));
        std::fs::write(left.with_added_extension("partial"), "left").unwrap();
        std::fs::create_dir(left.with_added_extension("pieces.partial")).unwrap();
    }
    let store = Store::open(disk.folder.path(), options()).unwrap();
    for runs in [vec![1], large(0)] {
        store.write(&location(), "1", |out| fill(out, &runs, None)).unwrap();
    }
}
