//! Timestamp tokens from anybody, beside a signature that is good: no panic.
#![no_main]

mod fixture;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use libfuzzer_sys::fuzz_target;

const HEADER: &str = r#""header":{"#;

fuzz_target!(|token: &[u8]| {
    let signature = String::from_utf8_lossy(fixture::SIGNATURE);
    let stamped = format!(r#"{HEADER}"io.cncf.notary.timestampSignature":"{}","#, STANDARD.encode(token));
    let signature = signature.replacen(HEADER, &stamped, 1);
    let server = |_: &str| Err(String::new());
    let _ = fixture::judge(&fixture::statement(r#""ca:a","tsa:a""#), signature.as_bytes(), server);
});
