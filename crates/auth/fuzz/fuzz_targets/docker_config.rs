//! Pull Secrets are tenants' bytes: they must parse or be refused, and look-ups in what parsed must end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_auth::{DockerConfig, Keyring};

fuzz_target!(|input: &str| {
    let mut parts = input.splitn(3, '\u{1f}');
    let [registry, repository, text] = std::array::from_fn(|_| parts.next().unwrap_or_default());
    let Ok(config) = DockerConfig::parse(text.as_bytes()) else { return };
    let mut ring = Keyring::default();
    ring.add(config);
    let _found = ring.lookup(registry, repository);
});
