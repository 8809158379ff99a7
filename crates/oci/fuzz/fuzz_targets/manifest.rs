//! Manifests are a registry's bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_artifact::{Algorithm, Digest};
use weir_oci::Manifest;

fuzz_target!(|bytes: &[u8]| {
    let _manifest = Manifest::parse(Digest::of(Algorithm::Sha256, bytes), bytes, "https://fuzz");
});
