//! The throw-away keys of `tests/data/keys`.

use std::path::PathBuf;

use weir_sops::Keyring;

pub(crate) fn data() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

pub(crate) fn key(name: &str) -> String {
    std::fs::read_to_string(data().join("keys").join(name)).unwrap()
}

/// All of them.
pub(crate) fn all() -> Keyring {
    let mut ring = Keyring::default();
    for name in ["age.agekey", "age_pq.agekey", "ssh_ed25519", "ssh_rsa"] {
        ring.identities.add(&key(name)).unwrap();
    }
    for name in ["pgp.asc", "pgp_curve.asc"] {
        ring.pgp.add(key(name).as_bytes()).unwrap();
    }
    ring
}
