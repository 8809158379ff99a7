//! Large files are read out of their pack piece by piece (SRC-STO-10).

use std::io::Read;

use rstest::rstest;
use weir_git::{Checkout, TreeKind};

use crate::store::Kept;
use crate::{branch, failure};

/// Above this a file that is not kept piece by piece is refused.
const IN_MEMORY: usize = 256 << 20;
/// A commit of so many bytes is read. One with such a message has more.
const MESSAGE: usize = 16 << 20;

/// Bytes that no compression makes small.
pub(crate) fn noise(size: usize) -> String {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b' ' + (state >> 58) as u8)
    };
    (0..size).map(|_| next()).collect()
}

fn read(checkout: &Checkout, name: &str) -> std::io::Result<Vec<u8>> {
    let reader = checkout.reader().unwrap();
    let node = reader.find(checkout.commit().tree, name).unwrap().unwrap();
    assert_eq!(node.kind, TreeKind::File { executable: false });
    let (size, mut content) = reader.open(node.id).map_err(std::io::Error::other)?;
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap());
    content.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[rstest]
#[tokio::test]
async fn a_large_file_is_whole_or_an_error(#[values("sha1", "sha256")] format: &str) {
    let kept = Kept::start_as(format).await;
    let text = noise(5 << 20);
    kept.repository.commit("main", "large", &[("large", &text)]).unwrap();
    let checkout = kept.fetch(&branch("main")).await;
    assert!(read(&checkout, "large").unwrap() == text.as_bytes());

    let (size, pack) = kept.packs().remove(0);
    let mut bytes = std::fs::read(&pack).unwrap();
    bytes[usize::try_from(size).unwrap() / 2] ^= 0x55;
    std::fs::remove_file(&pack).unwrap();
    std::fs::write(&pack, bytes).unwrap();
    let error = read(&checkout, "large").unwrap_err();
    let of_store = error.get_ref().and_then(|error| error.downcast_ref::<weir_git::Error>());
    assert!(of_store.is_some_and(weir_git::Error::is_of_store), "{error}");
}

/// A megabyte of a pack may become a gibibyte of a message: its size is seen before it is unpacked.
#[rstest]
#[tokio::test]
async fn a_commit_that_is_too_large_is_not_downloaded(#[values("sha1", "sha256")] format: &str) {
    let kept = Kept::start_as(format).await;
    let good = kept.repository.commit("main", "good", &[("a", "a")]).unwrap();
    drop(kept.fetch(&branch("main")).await);
    kept.repository.commit("main", &"a".repeat(MESSAGE), &[("a", "b")]).unwrap();
    let error = failure(&kept.remote, &branch("main")).await;
    assert_eq!(error.to_string(), format!("size of a commit of the download exceeds {MESSAGE}"));
    kept.repository.set_branch("main", &good).unwrap();
    assert_eq!(kept.fetch(&branch("main")).await.commit().id.to_string(), good);
}

#[tokio::test]
async fn a_file_may_be_larger_than_what_is_held_in_memory() {
    let kept = Kept::start().await;
    let text = "large ".repeat(IN_MEMORY / 6 + 1000);
    kept.repository.commit("main", "large", &[("large", &text)]).unwrap();
    let checkout = kept.fetch(&branch("main")).await;
    assert!(read(&checkout, "large").unwrap() == text.as_bytes());
    let node = checkout.reader().unwrap().find(checkout.commit().tree, "large").unwrap().unwrap();
    let error = checkout.read(node.id).unwrap_err();
    assert!(error.to_string().contains("size of blob"), "{error}");
}
