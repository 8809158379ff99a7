//! Paths, digests and revisions from statuses and archives: no panic, and what is taken is what it promises to be.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_artifact::{Digest, RelPath, Revision};

fuzz_target!(|text: &str| {
    if let Ok(path) = RelPath::parse(text) {
        let parts: Vec<_> = path.as_str().split('/').collect();
        assert!(parts.iter().all(|part| !matches!(*part, "" | "." | "..") && !part.contains(['\\', '\0'])));
        assert_eq!(parts.len(), path.depth());
    }
    if let Ok(digest) = Digest::parse(text) {
        assert_eq!(digest.to_string(), text);
    }
    let once = Revision::normalise(text).to_string();
    assert_eq!(Revision::normalise(&once).to_string(), once, "a revision of today stays as it is");
});
