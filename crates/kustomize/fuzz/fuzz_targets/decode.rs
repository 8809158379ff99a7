//! The decoder of kustomization files must take anything without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_kustomize::{Kustomization, UnknownFields};

fuzz_target!(|bytes: &[u8]| {
    let _strict = Kustomization::parse(bytes, UnknownFields::Reject);
    let _lenient = Kustomization::parse(bytes, UnknownFields::Drop);
});
