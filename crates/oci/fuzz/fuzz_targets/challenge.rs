//! `WWW-Authenticate` is a registry's text: it says where a password is sent, so what it says must never be more than is
//! in it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_oci::Challenge;

fuzz_target!(|text: &str| {
    if let Challenge::Bearer { realm, service } = Challenge::parse(&[text]) {
        assert!(text.contains(&realm));
        assert!(service.is_none_or(|service| text.contains(&service)));
    }
});
