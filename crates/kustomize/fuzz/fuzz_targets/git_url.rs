//! The reader of Git URLs must take any reference without a panic, and never let a directory leave its repository.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_kustomize::{FsPath, GitUrl};

fuzz_target!(|text: &str| {
    let Ok(url) = GitUrl::parse(text) else { return };
    assert!(!url.repository.is_empty());
    assert!(FsPath::new(&url.path).is_ok(), "{url:?}");
});
