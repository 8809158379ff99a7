//! The parser of `.gitmodules` must take anything without a panic; what it gives has a path and a URL.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_git::parse_modules;

fuzz_target!(|text: &str| {
    for module in parse_modules(text).unwrap_or_default() {
        assert!(!module.path.is_empty() && !module.url.is_empty());
    }
});
