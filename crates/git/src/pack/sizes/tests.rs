use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use git2::{ObjectType, Repository};
use rstest::rstest;
use tempfile::TempDir;

use super::*;

/// Types of the objects of a pack.
const COMMIT: u8 = 1;
const TREE: u8 = 2;
const BLOB: u8 = 3;
const BY_PLACE: u8 = 6;
const BY_NAME: u8 = 7;
/// Bytes that are held in memory.
const HELD: usize = 100;

/// An object as it lies in a pack: its type, the name or distance of the one that it is a difference to, and its content.
fn packed(kind: u8, base: &[u8], content: &[u8]) -> Vec<u8> {
    let mut size = content.len();
    let mut bytes = vec![kind << 4 | (size & 15) as u8];
    size >>= 4;
    while size > 0 {
        *bytes.last_mut().unwrap() |= 0x80;
        bytes.push((size & 0x7f) as u8);
        size >>= 7;
    }
    bytes.extend(base);
    let mut encoder = ZlibEncoder::new(bytes, Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn pack(objects: &[Vec<u8>]) -> Vec<u8> {
    let head = header::encode(gix_pack::data::Version::V2, objects.len() as u32);
    [head.as_slice(), &objects.concat(), &[0; 20]].concat()
}

/// A difference that inserts a byte and says these sizes.
fn difference(base: u8, result: u8) -> Vec<u8> {
    vec![base, result, 1, b'x']
}

/// A difference to the object in front of it.
fn to_last(last: &[u8], content: &[u8]) -> Vec<u8> {
    assert!(last.len() < 0x80);
    packed(BY_PLACE, &[last.len() as u8], content)
}

fn name(content: &[u8]) -> Vec<u8> {
    gix_object::compute_hash(Kind::Sha1, gix_object::Kind::Blob, content).unwrap().as_slice().to_vec()
}

fn repository() -> (TempDir, Objects) {
    let folder = tempfile::tempdir().unwrap();
    let repository = Repository::init_bare(folder.path()).unwrap();
    (folder, Objects::Sha1(repository))
}

/// However the pack is cut, the verdict is the same.
fn verdict(objects: &Objects, pack: &[u8]) -> Result<(), String> {
    let [whole, others @ ..] = [pack.len(), 4096, 7, 1].map(|step| {
        let mut sizes = Sizes::within(objects, HELD as u64).unwrap();
        let seen = pack.chunks(step).try_for_each(|bytes| sizes.see(bytes));
        seen.and_then(|()| sizes.finish()).map_err(|error| error.to_string())
    });
    assert!(others.iter().all(|other| *other == whole), "{whole:?} {others:?}");
    whole
}

fn large() -> Vec<u8> {
    vec![b'a'; HELD + 1]
}

fn is_refused(pack: &[u8]) -> bool {
    let (_folder, objects) = repository();
    let refusal = "size of an object of the download exceeds 100";
    match verdict(&objects, pack) {
        Ok(()) => false,
        Err(error) => error == refusal || panic!("{error}"),
    }
}

#[rstest]
#[case(COMMIT, 16 << 20, "commit")]
#[case(TREE, 64 << 20, "tree")]
fn commits_and_trees(#[case] kind: u8, #[case] limit: usize, #[case] name: &str) {
    let (_folder, objects) = repository();
    let mut sizes = Sizes::new(&objects).unwrap();
    sizes.see(&pack(&[packed(kind, &[], &vec![b'a'; limit])])).unwrap();
    let mut sizes = Sizes::new(&objects).unwrap();
    let error = sizes.see(&pack(&[packed(kind, &[], &vec![b'a'; limit + 1])])).unwrap_err();
    assert_eq!(error.to_string(), format!("size of a {name} of the download exceeds {limit}"));
}

#[test]
fn files_are_of_any_size_but_differences_to_them_are_not() {
    let (small, large) = (packed(BLOB, &[], &[b'a'; HELD]), packed(BLOB, &[], &large()));
    let good = difference(HELD as u8, HELD as u8);
    assert!(!is_refused(&pack(&[small.clone(), to_last(&small, &good), large.clone()])));
    // Its own claim about its base is a lie then.
    assert!(is_refused(&pack(&[large.clone(), to_last(&large, &good)])));
}

#[rstest]
#[case::right(&difference(100, 100), false)]
#[case::base(&difference(101, 1), true)]
#[case::result(&difference(1, 101), true)]
#[case::itself(&[[1, 1].as_slice(), &[0; 99]].concat(), true)]
#[case::more_than_a_number_has(&[0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f, 1], true)]
#[case::in_more_bytes_than_it_takes(&[[0x81].as_slice(), &[0x80; 18], &[0, 1]].concat(), true)]
#[case::none(&[1], true)]
fn sizes_of_differences(#[case] content: &[u8], #[case] expected: bool) {
    let small = packed(BLOB, &[], b"a");
    assert_eq!(is_refused(&pack(&[small.clone(), to_last(&small, content)])), expected);
}

/// A base may come before or after the differences to it.
#[rstest]
#[case::small(&[b'a'; HELD], false)]
#[case::large(&[b'a'; HELD + 1], true)]
fn differences_by_name(#[case] content: &[u8], #[case] expected: bool) {
    let base = packed(BLOB, &[], content);
    let difference = packed(BY_NAME, &name(content), &difference(HELD as u8, 1));
    assert_eq!(is_refused(&pack(&[base.clone(), difference.clone()])), expected);
    assert_eq!(is_refused(&pack(&[difference, base])), expected);
}

#[rstest]
#[case::small(&[b'a'; HELD], false)]
#[case::large(&[b'a'; HELD + 1], true)]
fn differences_to_what_is_there(#[case] content: &[u8], #[case] expected: bool) {
    let (_folder, objects) = repository();
    let Objects::Sha1(repository) = &objects else { unreachable!() };
    repository.odb().unwrap().write(ObjectType::Blob, content).unwrap();
    let pack = pack(&[packed(BY_NAME, &name(content), &difference(HELD as u8, 1))]);
    assert_eq!(verdict(&objects, &pack).is_err(), expected);
}

/// The library that reads SHA-256 holds each file.
#[test]
fn files_of_sha256() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("objects/pack")).unwrap();
    let objects = Objects::sha256(folder.path()).unwrap();
    assert_eq!(verdict(&objects, &pack(&[packed(BLOB, &[], &[b'a'; HELD])])), Ok(()));
    assert!(verdict(&objects, &pack(&[packed(BLOB, &[], &large())])).is_err());
}

#[test]
fn packs_that_are_none() {
    let (_folder, objects) = repository();
    let too_many = header::encode(gix_pack::data::Version::V2, MAX_OBJECTS + 1);
    assert_eq!(
        verdict(&objects, &too_many),
        Err("number of objects of the download exceeds 20000000".to_owned())
    );
    assert!(verdict(&objects, b"no pack at all").is_err());
    let mut damaged = pack(&[packed(BLOB, &[], b"content")]);
    damaged[header::SIZE + 1] = 0xff;
    assert_eq!(verdict(&objects, &damaged), Err(Error::Unpack.to_string()));
    let endless = [header::encode(gix_pack::data::Version::V2, 1).as_slice(), &[0xff; 64]].concat();
    assert!(verdict(&objects, &endless).is_err());
}

/// Damage is found, or does no harm, wherever it is and however the pack is cut.
#[test]
fn packs_that_are_spoiled_anywhere() {
    let (_folder, objects) = repository();
    let small = packed(BLOB, &[], b"content");
    let difference = packed(BY_NAME, &name(b"content"), &difference(7, 1));
    let good = pack(&[small.clone(), to_last(&small, &[7, 1, 1, b'x']), difference, packed(TREE, &[], b"")]);
    assert_eq!(verdict(&objects, &good), Ok(()));
    let mut refused = 0;
    for at in header::SIZE..good.len() {
        for mask in [0x01, 0x10, 0x80, 0xff] {
            let mut spoiled = good.clone();
            spoiled[at] ^= mask;
            refused += usize::from(verdict(&objects, &spoiled).is_err());
        }
    }
    assert!(refused > good.len(), "{refused} of {}", 4 * good.len());
}
