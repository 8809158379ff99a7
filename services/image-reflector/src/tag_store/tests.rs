//! Round trips, both forms, and what happens to strangers.

use proptest::prelude::*;
use rstest::rstest;
use weir_runtime::ObjectKey;

use super::{TagStore, revision};

fn owned(tags: &[&str]) -> Vec<String> {
    tags.iter().map(|tag| (*tag).to_owned()).collect()
}

#[test]
fn revisions_are_those_of_the_specification() {
    let digest = "sha256:5c6861a52da9e6bfd5f0b37a8c51af173d7550443bb36253b18b2caf57987f53";
    assert_eq!(revision(&owned(&["d", "c", "b", "a"])), digest);
    let digest = "sha256:7a51607e76b9456d5a7180930e695c9a0125fdcf42ff20faee9cb1641bf4b735";
    assert_eq!(revision(&owned(&["v1.1.0", "v1.0.0", "latest"])), digest);
}

#[test]
fn short_lists_are_plain_and_long_ones_gzipped_and_only_one_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let store = TagStore::open(folder.path(), 8).unwrap();
    let key = ObjectKey::new("ns", "app");
    let place = folder.path().join("imagerepository/ns/app");
    for (tags, file) in [
        (owned(&["b", "a"]), "tags.txt"),
        (owned(&["long-tag", "a"]), "tags.txt.gz"),
        (owned(&["c"]), "tags.txt"),
    ] {
        store.write(&key, &tags).unwrap();
        assert_eq!(store.read(&key).unwrap(), tags);
        let bytes: u64 = tags.iter().map(|tag| tag.len() as u64 + 1).sum();
        assert_eq!(store.read_within(&key, bytes).unwrap(), Some(tags));
        assert_eq!(store.read_within(&key, bytes - 1).unwrap(), None);
        assert!(store.has_tags(&key).unwrap());
        let files: Vec<_> =
            std::fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(files, [file]);
    }
}

/// IR-28: a crash after the new form was written and before the old one was removed.
#[rstest]
#[case("tags.txt", "new")]
#[case("tags.txt.gz", "old")]
fn of_both_forms_the_newer_one_counts(#[case] older: &str, #[case] read: &str) {
    let folder = tempfile::tempdir().unwrap();
    let key = ObjectKey::new("ns", "app");
    let place = folder.path().join("imagerepository/ns/app");
    TagStore::open(folder.path(), 0).unwrap().write(&key, &owned(&["new"])).unwrap();
    std::fs::write(place.join("tags.txt"), "old\n").unwrap();
    let file = std::fs::File::options().write(true).open(place.join(older)).unwrap();
    file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(10)).unwrap();
    assert_eq!(TagStore::open(folder.path(), 64).unwrap().read(&key).unwrap(), [read]);
}

#[test]
fn removal_takes_empty_folders_along() {
    let folder = tempfile::tempdir().unwrap();
    let store = TagStore::open(folder.path(), 64).unwrap();
    let (one, two) = (ObjectKey::new("ns", "one"), ObjectKey::new("ns", "two"));
    store.write(&one, &owned(&["a"])).unwrap();
    store.write(&two, &owned(&["b"])).unwrap();
    store.remove(&one).unwrap();
    assert_eq!(store.keys().unwrap(), std::slice::from_ref(&two));
    store.remove(&two).unwrap();
    store.remove(&two).unwrap();
    assert!(!folder.path().join("imagerepository/ns").exists());
    assert_eq!(store.read(&two).unwrap(), Vec::<String>::new());
    assert!(!store.has_tags(&two).unwrap());
    store.write(&two, &[]).unwrap();
    assert!(!store.has_tags(&two).unwrap());
}

/// IR-29
#[test]
fn garbage_is_what_has_no_object() {
    let folder = tempfile::tempdir().unwrap();
    let store = TagStore::open(folder.path(), 64).unwrap();
    let (kept, gone, alone) =
        (ObjectKey::new("ns", "kept"), ObjectKey::new("ns", "gone"), ObjectKey::new("other", "gone"));
    for key in [&kept, &gone, &alone] {
        store.write(key, &owned(&["a"])).unwrap();
    }
    store.collect_garbage(|key| *key == kept).unwrap();
    assert_eq!(store.keys().unwrap(), std::slice::from_ref(&kept));
    assert!(!folder.path().join("imagerepository/other").exists());
    assert_eq!(store.read(&kept).unwrap(), ["a"]);
}

#[test]
fn another_format_is_wiped_and_ours_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("000001.vlog"), "badger").unwrap();
    let store = TagStore::open(folder.path(), 64).unwrap();
    assert!(!folder.path().join("000001.vlog").exists());
    let key = ObjectKey::new("ns", "app");
    store.write(&key, &owned(&["a"])).unwrap();
    assert_eq!(TagStore::open(folder.path(), 64).unwrap().read(&key).unwrap(), ["a"]);
    std::fs::write(folder.path().join(".storage-wipe-in-progress"), "").unwrap();
    assert!(TagStore::open(folder.path(), 64).unwrap().keys().unwrap().is_empty());
}

/// IR-30: a marker that cannot be read says nothing about the format.
#[test]
fn an_unreadable_marker_does_not_wipe_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let key = ObjectKey::new("ns", "app");
    TagStore::open(folder.path(), 64).unwrap().write(&key, &owned(&["a"])).unwrap();
    let marker = folder.path().join(".storage-version");
    std::fs::remove_file(&marker).unwrap();
    std::fs::create_dir(&marker).unwrap();
    assert!(TagStore::open(folder.path(), 64).is_err());
    std::fs::remove_dir(&marker).unwrap();
    std::fs::write(&marker, "2\n").unwrap();
    assert_eq!(TagStore::open(folder.path(), 64).unwrap().read(&key).unwrap(), ["a"]);
}

#[test]
fn security_names_do_not_lead_out() {
    let folder = tempfile::tempdir().unwrap();
    let store = TagStore::open(folder.path(), 64).unwrap();
    assert!(store.write(&ObjectKey::new("..", "x"), &owned(&["a"])).is_err());
    assert!(store.remove(&ObjectKey::new("ns", "a/../..")).is_err());
}

proptest! {
    // Every case syncs files to the disk.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_is_written_is_read(tags in prop::collection::vec("[A-Za-z0-9_.-]{1,40}", 0..60), threshold in 1_usize..400) {
        let folder = tempfile::tempdir().unwrap();
        let store = TagStore::open(folder.path(), threshold).unwrap();
        let key = ObjectKey::new("ns", "app");
        store.write(&key, &tags).unwrap();
        prop_assert_eq!(store.read(&key).unwrap(), tags);
    }
}
