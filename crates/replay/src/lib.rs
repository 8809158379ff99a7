//! Fuzz targets as ordinary tests: the same files, without libFuzzer and on the stable compiler.
//!
//! A crate's tests say `extern crate weir_replay as libfuzzer_sys` and take the files of `fuzz/fuzz_targets` as modules.
//! [`fuzz_target`] then makes a test of each of them, which runs it with every file of `fuzz/seeds/<target>` and with what
//! is made of these files by cutting and spoiling. Every finding of a fuzzer becomes a seed.
#![allow(clippy::panic, reason = "a test that fails panics")]

use std::path::{Path, PathBuf};

/// Makes the test `seeds` of a target; takes what libFuzzer's macro of this name takes, as far as targets use it.
#[macro_export]
macro_rules! fuzz_target {
    (|$input:ident: &[u8]| $body:block) => {
        fn target($input: &[u8]) $body

        #[test]
        fn seeds() {
            $crate::replay(env!("CARGO_MANIFEST_DIR"), file!(), target);
        }
    };
    (|$input:ident: &str| $body:block) => {
        fn target($input: &str) $body

        #[test]
        fn seeds() {
            $crate::replay(env!("CARGO_MANIFEST_DIR"), file!(), |bytes| target($crate::text(bytes)));
        }
    };
}

/// Runs a target of the crate in `folder` with all its seeds, and with spoiled ones.
///
/// # Panics
/// When the target has no seeds, and where the target itself does.
pub fn replay(folder: &str, file: &str, target: impl Fn(&[u8])) {
    for path in seeds(folder, file) {
        let seed = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        println!("{}", path.display());
        target(&seed);
        for spoiled in spoil(&seed) {
            target(&spoiled);
        }
    }
}

/// Returns the part of an input that is text, as libFuzzer's macro does.
#[must_use]
pub fn text(bytes: &[u8]) -> &str {
    bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid())
}

fn seeds(folder: &str, file: &str) -> Vec<PathBuf> {
    let name = Path::new(file).file_stem().unwrap_or_default();
    let folder = Path::new(folder).join("fuzz/seeds").join(name);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    assert!(!paths.is_empty(), "{} holds no seeds", folder.display());
    paths.sort();
    paths
}

/// Cuts a seed at every quarter of it, and changes the byte there: few inputs, which are always the same.
fn spoil(seed: &[u8]) -> Vec<Vec<u8>> {
    let mut spoiled = Vec::new();
    for quarter in 1..4 {
        let (head, tail) = seed.split_at(seed.len() * quarter / 4);
        let Some((byte, rest)) = tail.split_first() else { continue };
        spoiled.extend([head.to_vec(), [head, &[byte ^ 0x20], rest].concat()]);
    }
    spoiled
}
