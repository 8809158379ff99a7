//! SSH and OpenPGP armour, authorized keys and key rings from anybody: no panic.
#![no_main]

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;
use weir_verify::git::{GitKeys, Object};

const SIGNATURES: [&str; 2] = ["-----BEGIN PGP SIGNATURE-----", "-----BEGIN SSH SIGNATURE-----"];
const RING: &str = "-----BEGIN PGP PUBLIC KEY BLOCK-----";

fuzz_target!(|parts: (bool, Vec<u8>, Vec<u8>)| {
    let (is_ssh, signature, key) = parts;
    let armoured = [SIGNATURES[usize::from(is_ssh)].as_bytes(), &signature].concat();
    let secret = BTreeMap::from([
        ("a.sshpub".to_owned(), key.clone()),
        ("b.asc".to_owned(), [RING.as_bytes(), &key].concat()),
    ]);
    let keys = GitKeys::from_secret(&secret);
    let _ = keys.verify(Object::Commit, b"payload", Some(&armoured), Timestamp::UNIX_EPOCH);
});
