//! Pull Secrets are tenants' bytes: they must parse or be refused, and look-ups in what parsed must end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_auth::{DockerConfig, Keyring};

fuzz_target!(|input: (&[u8], &str, &str)| {
    let (bytes, registry, repository) = input;
    let Ok(config) = DockerConfig::parse(bytes) else { return };
    let mut ring = Keyring::default();
    ring.add(config);
    let _found = ring.lookup(registry, repository);
});
