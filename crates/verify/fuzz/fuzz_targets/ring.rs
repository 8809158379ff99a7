//! Rings of private OpenPGP keys and passphrases from anybody: no panic, and no memory without bound.
#![no_main]

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use weir_verify::git::{Choice, SigningKey};

/// A moment at which the keys of the seeds are there.
const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

fuzz_target!(|input: &[u8]| {
    for choice in [Choice::Only, Choice::First, Choice::Id("00000000DEADBEEF")] {
        if let Ok(key) = SigningKey::openpgp(input, choice, Some(b"secret"), NOW) {
            let _ = key.sign(b"payload", NOW);
        }
    }
});
