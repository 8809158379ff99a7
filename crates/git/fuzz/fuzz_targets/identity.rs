//! Private keys of Secrets must not make the reader panic, whatever they hold.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _is_encrypted = weir_git::identity_is_encrypted(text);
});
