//! Keys and encrypted data keys are tenants' bytes: a key, and a message for it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_sops::{KeyService, Keyring, MasterKey};

fuzz_target!(|input: &str| {
    let (keys, message) = input.split_once('\u{1f}').unwrap_or((input, ""));
    let mut ring = Keyring::default();
    let _added = ring.identities.add(keys);
    let _added = ring.pgp.add(keys.as_bytes());
    let (recipient, fingerprint, enc) = (String::new(), String::new(), message.to_owned());
    let _plain = ring.decrypt(&MasterKey::Age { recipient, enc: enc.clone() });
    let _plain = ring.decrypt(&MasterKey::Pgp { fingerprint, enc });
});
