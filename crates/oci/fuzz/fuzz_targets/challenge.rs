//! `WWW-Authenticate` is a registry's text that names the receiver of a password, so the parsed challenge must never
//! hold more than the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_oci::Challenge;

fuzz_target!(|text: &str| {
    if let Challenge::Bearer { realm, service } = Challenge::parse(&[text]) {
        assert!(text.contains(&realm));
        assert!(service.is_none_or(|service| text.contains(&service)));
    }
});
