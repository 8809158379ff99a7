//! Encrypted documents of every format: they must be read or refused, and what was read must be decrypted or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_sops::{DataKey, Document, Format};

fuzz_target!(|input: &str| {
    let (format, text) = input.split_once('\u{1f}').unwrap_or(("yaml", input));
    let Some(format) = Format::parse(format) else { return };
    let Ok(document) = Document::read(text.as_bytes(), format) else { return };
    let _written = document.write(format);
    let Ok(key) = DataKey::new(&[0; 32]) else { return };
    if let Ok(plain) = document.clone().decrypt(&key) {
        let _verdict = plain.verify(&document.metadata, &key);
        let _plaintext = plain.write(format);
    }
});
