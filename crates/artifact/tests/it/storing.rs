//! The store: whole files under final names, digests that are checked, garbage that goes.

use std::cell::RefCell;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use weir_artifact::archive::Sink;
use weir_artifact::{
    Algorithm, Digest, Location, PIECE_BYTES, RelPath, Store, StoreError, StoreOptions, VerifyError,
};
use weir_testkit::SmallDisk;

fn store(root: &Path) -> Store {
    let advertised = "source-controller.flux-system.svc.cluster.local.".to_owned();
    Store::open(root, options(advertised, Algorithm::Sha256)).unwrap()
}

fn options(advertised: String, algorithm: Algorithm) -> StoreOptions {
    StoreOptions { advertised, algorithm, records: 2, piece_bytes: PIECE_BYTES, step: |_| {} }
}

fn location() -> Location {
    Location::new("GitRepository", "flux-system", "app").unwrap()
}

fn put(store: &Store, file: &str, text: &str) -> weir_artifact::Stored {
    store.write(&location(), file, |out| out.write_all(text.as_bytes())).unwrap()
}

fn age(root: &Path, file: &str, seconds: u64) {
    let path = root.join("gitrepository/flux-system/app").join(file);
    let time = SystemTime::now() - Duration::from_secs(seconds);
    std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

fn names(root: &Path) -> Vec<String> {
    let directory = std::fs::read_dir(root.join("gitrepository/flux-system/app")).unwrap();
    let mut names: Vec<_> =
        directory.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn stored_files_have_path_digest_size_and_mode() {
    let root = tempfile::tempdir().unwrap();
    let store = store(root.path());
    let stored = put(&store, "a.tar.gz", "content");
    assert_eq!(stored.path.as_str(), "gitrepository/flux-system/app/a.tar.gz");
    assert_eq!(stored.digest, Digest::of(Algorithm::Sha256, b"content"));
    assert_eq!(stored.size, 7);
    assert_eq!(
        store.url(&stored.path),
        "http://source-controller.flux-system.svc.cluster.local./gitrepository/flux-system/app/a.tar.gz"
    );
    let mode = std::fs::metadata(root.path().join(stored.path.as_str())).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    let mode =
        std::fs::metadata(root.path().join("gitrepository/flux-system/app")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o700);
}

/// Files of which the disk has begun with the first half while the second is made.
#[test]
fn huge_files_end_too() {
    let root = tempfile::tempdir().unwrap();
    let piece = vec![7; 1 << 20];
    let fill = |out: &mut dyn Sink| (0..140).try_for_each(|_| out.write_all(&piece));
    let stored = store(root.path()).write(&location(), "a.tar.gz", fill).unwrap();
    assert_eq!(stored.size, 140 << 20);
    assert_eq!(std::fs::metadata(root.path().join(stored.path.as_str())).unwrap().len(), 140 << 20);
}

#[test]
fn large_files_are_whole_in_pieces_of_any_size() {
    let root = tempfile::tempdir().unwrap();
    let store = store(root.path());
    let content: Vec<u8> =
        (0..3_000_000_u32).map(|number| (number.wrapping_mul(number) >> 7) as u8).collect();
    for piece in [1_000, 65_536, 1_000_003] {
        let fill = |out: &mut dyn Sink| content.chunks(piece).try_for_each(|piece| out.write_all(piece));
        let stored = store.write(&location(), "a.tar.gz", fill).unwrap();
        assert_eq!(stored.size, 3_000_000);
        assert_eq!(stored.digest, Digest::of(Algorithm::Sha256, &content));
        assert_eq!(std::fs::read(root.path().join(stored.path.as_str())).unwrap(), content);
    }
}

#[test]
fn a_failed_write_leaves_the_old_file_and_nothing_else() {
    let root = tempfile::tempdir().unwrap();
    let store = store(root.path());
    let stored = put(&store, "a.tar.gz", "old");
    let result = store.write(&location(), "a.tar.gz", |out| {
        out.write_all(b"half")?;
        Err(std::io::Error::other("disk full"))
    });
    assert_eq!(result.unwrap_err().to_string(), "unable to archive artifact to storage: disk full");
    assert_eq!(names(root.path()), ["a.tar.gz"]);
    store.verify(&location(), stored.path.as_str(), &stored.digest.to_string()).unwrap();
}

/// SRC-SCK-9: large files are remembered, and not believed once they were touched.
#[test]
fn tampering_with_a_large_file_is_noticed_whatever_its_times_say() {
    let root = tempfile::tempdir().unwrap();
    let store = store(root.path());
    let mut content = vec![7; 17 << 20];
    let stored = store.write(&location(), "a.tar.gz", |out| out.write_all(&content)).unwrap();
    let (path, digest) = (root.path().join(stored.path.as_str()), stored.digest.to_string());
    let verify = || store.verify(&location(), stored.path.as_str(), &digest);
    verify().unwrap();
    let written = std::fs::metadata(&path).unwrap().modified().unwrap();
    content[1 << 20] = 8;
    std::fs::write(&path, &content).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(written).unwrap();
    verify().unwrap_err();
    content[1 << 20] = 7;
    std::fs::write(&path, &content).unwrap();
    verify().unwrap();
    verify().unwrap();
}

/// SRC-SCK-9, SRC-REC-14.
#[test]
fn tampering_and_loss_are_noticed() {
    let root = tempfile::tempdir().unwrap();
    let store = store(root.path());
    let stored = put(&store, "a.tar.gz", "good");
    let digest = stored.digest.to_string();
    std::fs::write(root.path().join(stored.path.as_str()), "evil").unwrap();
    let error = store.verify(&location(), stored.path.as_str(), &digest).unwrap_err();
    assert_eq!(error.to_string(), format!("computed digest doesn't match '{digest}'"));
    store.remove(&location(), stored.path.as_str()).unwrap();
    assert!(matches!(store.verify(&location(), stored.path.as_str(), &digest), Err(VerifyError::Missing)));
    assert!(matches!(store.verify(&location(), stored.path.as_str(), ""), Err(VerifyError::NoDigest)));
}

/// SRC-SCK-15.
#[test]
fn a_forged_status_reaches_no_other_file() {
    let root = tempfile::tempdir().unwrap();
    let outside = root.path().join("secret");
    std::fs::write(&outside, "secret").unwrap();
    let storage = root.path().join("data");
    std::fs::create_dir(&storage).unwrap();
    let store = store(&storage);
    put(&store, "a.tar.gz", "a");
    let other = Location::new("GitRepository", "other", "app").unwrap();
    let foreign = store.write(&other, "a.tar.gz", |out| out.write_all(b"secret")).unwrap();
    let digest = Digest::of(Algorithm::Sha256, b"secret").to_string();
    for forged in ["../secret", "gitrepository/flux-system/app/../../../../secret", foreign.path.as_str()] {
        assert!(matches!(store.verify(&location(), forged, &digest), Err(VerifyError::Missing)), "{forged}");
        store.remove(&location(), forged).unwrap();
    }
    assert!(outside.exists() && storage.join(foreign.path.as_str()).exists());
}

/// DEV 22, SRC-STO-3, SRC-STO-15.
#[test]
fn only_finished_files_are_served_links_included() {
    let root = tempfile::tempdir().unwrap();
    let store = store(root.path());
    let stored = put(&store, "a.tar.gz", "a");
    drop(store.lock(&location(), "a.tar.gz").unwrap());
    let link = store.link(&location(), "latest.tar.gz", "a.tar.gz").unwrap();
    let mut text = String::new();
    store.open_file(&link).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "a");
    let target = std::fs::read_link(root.path().join(link.as_str())).unwrap();
    assert_eq!(target.to_str(), Some("a.tar.gz"));
    for hidden in ["a.tar.gz.lock", "a.tar.gz.1-1.partial", "nothing"] {
        if hidden != "nothing" {
            std::fs::write(root.path().join(location().file(hidden).unwrap().as_str()), "hidden").unwrap();
        }
        assert!(store.open_file(&location().file(hidden).unwrap()).is_err(), "{hidden}");
    }
    assert!(store.open_file(location().directory()).is_err());
    assert!(store.open_file(&stored.path).is_ok());
}

#[test]
fn links_out_of_the_root_are_not_followed() {
    let root = tempfile::tempdir().unwrap();
    let store = store(root.path());
    std::os::unix::fs::symlink("/etc/passwd", root.path().join("passwd")).unwrap();
    assert!(store.open_file(&RelPath::parse("passwd").unwrap()).is_err());
}

/// DEV 13, SRC-STO-11: as many as are to be kept, whatever their age.
#[test]
fn the_newest_files_and_the_current_one_stay() {
    let root = tempfile::tempdir().unwrap();
    let store = store(root.path());
    for (file, seconds) in [("1", 4000), ("2", 3000), ("3", 2000), ("4", 1000)] {
        put(&store, file, file);
        age(root.path(), file, seconds);
    }
    drop(store.lock(&location(), "2").unwrap());
    store.link(&location(), "latest.tar.gz", "4").unwrap();
    assert_eq!(store.collect(&location(), Some("1")).unwrap(), 2);
    assert_eq!(names(root.path()), ["1", "4", "latest.tar.gz"]);
    assert_eq!(store.collect(&location(), Some("1")).unwrap(), 0);
}

#[test]
fn a_lock_is_held_until_dropped() {
    let root = tempfile::tempdir().unwrap();
    let store = store(root.path());
    let lock = store.lock(&location(), "a").unwrap();
    let path = root.path().join("gitrepository/flux-system/app/a.lock");
    let other = std::fs::File::options().write(true).open(path).unwrap();
    assert!(other.try_lock().is_err());
    drop(lock);
    other.try_lock().unwrap();
}

#[test]
fn objects_that_are_gone_leave_nothing() {
    let root = tempfile::tempdir().unwrap();
    let store = store(root.path());
    put(&store, "a.tar.gz", "a");
    let gone = Location::new("gitrepository", "flux-system", "gone").unwrap();
    store.write(&gone, "b.tar.gz", |out| out.write_all(b"b")).unwrap();
    std::fs::write(root.path().join("gitrepository/flux-system/app/x.9-9.partial"), "").unwrap();
    age(root.path(), "x.9-9.partial", 7200);
    let is_live = |namespace: &str, name: &str| (namespace, name) == ("flux-system", "app");
    let sweep = |settled| store.sweep("gitrepository", &is_live, settled, SystemTime::now()).unwrap();
    // Its object may be on its way.
    assert_eq!(sweep(Duration::from_secs(60)), 0);
    assert_eq!(sweep(Duration::ZERO), 1);
    assert_eq!(names(root.path()), ["a.tar.gz"]);
    assert!(store.remove_object(&location()).unwrap());
    assert!(!store.remove_object(&location()).unwrap());
}

#[test]
fn the_storage_path_must_be_a_directory() {
    let error =
        Store::open(Path::new("/nowhere/at/all"), options("x".into(), Algorithm::Sha256)).err().unwrap();
    assert!(matches!(error, StoreError::Root { .. }));
    assert_eq!(error.to_string(), "invalid dir path: /nowhere/at/all");
}

#[rstest::rstest]
#[case(Algorithm::Sha1, 40)]
#[case(Algorithm::Sha256, 64)]
#[case(Algorithm::Sha384, 96)]
#[case(Algorithm::Sha512, 128)]
#[case(Algorithm::Blake3, 64)]
fn old_digests_stay_good_when_the_algorithm_changes(#[case] algorithm: Algorithm, #[case] length: usize) {
    let root = tempfile::tempdir().unwrap();
    let old = Store::open(root.path(), options("x".into(), algorithm)).unwrap();
    let stored = put(&old, "a.tar.gz", "content");
    let digest = stored.digest.to_string();
    assert_eq!(digest.split_once(':').map(|(name, hex)| (name, hex.len())), Some((algorithm.name(), length)));
    let new = store(root.path());
    new.verify(&location(), stored.path.as_str(), &digest).unwrap();
    std::fs::write(root.path().join(stored.path.as_str()), "CONTENT").unwrap();
    assert!(new.verify(&location(), stored.path.as_str(), &digest).is_err());
}

/// SRC-SCK-10.
#[test]
fn a_full_disk_leaves_the_old_file_and_no_partial_one() {
    let Some((root, _mounted)) = small_disk("256k") else { return };
    let store = store(root.path());
    let old = put(&store, "a.tar.gz", "old");
    let error = store.write(&location(), "b.tar.gz", |out| out.write_all(&[7; 1 << 20])).unwrap_err();
    assert!(error.to_string().contains("no space left on device"), "{error}");
    let StoreError::Write { source } = error else { panic!("{error}") };
    assert_eq!(source.kind(), std::io::ErrorKind::StorageFull);
    assert_eq!(names(root.path()), ["a.tar.gz"]);
    store.verify(&location(), old.path.as_str(), &old.digest.to_string()).unwrap();
    put(&store, "c.tar.gz", "small");
}

/// A folder on a small file system; nothing where that cannot be had.
pub(crate) fn small_disk(size: &str) -> Option<(tempfile::TempDir, SmallDisk)> {
    if !SmallDisk::is_allowed().unwrap() {
        return None;
    }
    let root = tempfile::tempdir().unwrap();
    let mounted = SmallDisk::mount(root.path(), size).unwrap();
    Some((root, mounted))
}

#[test]
fn every_step_of_a_write_is_told_in_order() {
    thread_local! {
        static SEEN: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    }
    let root = tempfile::tempdir().unwrap();
    let step = |name| SEEN.with_borrow_mut(|seen| seen.push(name));
    let store =
        Store::open(root.path(), StoreOptions { step, ..options("x".into(), Algorithm::Sha256) }).unwrap();
    put(&store, "a.tar.gz", "a");
    store.link(&location(), "latest.tar.gz", "a.tar.gz").unwrap();
    let of_small = weir_artifact::STEPS.into_iter();
    let of_small = of_small.filter(|step| !["store-piece", "store-replaced"].contains(step));
    SEEN.with_borrow(|seen| assert_eq!(*seen, of_small.collect::<Vec<_>>()));
}
