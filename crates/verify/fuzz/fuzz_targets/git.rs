//! SSH and OpenPGP armour, authorized keys and key rings from anybody: no panic.
#![no_main]

use std::collections::BTreeMap;

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use weir_verify::git::{GitKeys, Object};

const SIGNATURES: [&str; 2] = ["-----BEGIN PGP SIGNATURE-----", "-----BEGIN SSH SIGNATURE-----"];
const RING: &str = "-----BEGIN PGP PUBLIC KEY BLOCK-----";

fuzz_target!(|input: &[u8]| {
    let mut parts = input.splitn(2, |byte| *byte == 0x1f);
    let [signature, key] = std::array::from_fn(|_| parts.next().unwrap_or_default());
    let secret = BTreeMap::from([
        ("a.sshpub".to_owned(), key.to_vec()),
        ("b.asc".to_owned(), [RING.as_bytes(), key].concat()),
    ]);
    let keys = GitKeys::from_secret(&secret);
    for armour in SIGNATURES {
        let armoured = [armour.as_bytes(), signature].concat();
        let _ = keys.verify(Object::Commit, b"payload", Some(&armoured), Timestamp::UNIX_EPOCH);
    }
});
