//! Manifests are tenants' text: they are substituted or refused. A text that strict mode takes is the same without it, and a
//! text with every dollar doubled is left as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_envsubst::{MAX_OUTPUT, Unset, substitute};

fn variable(name: &str) -> Option<&'static str> {
    match name {
        "a" => Some("ghcr.io/org/app:v1.2"),
        "b" => Some(""),
        "c" => Some("-2"),
        "d" => Some("${a}"),
        "e" => Some("äöü\\*"),
        _ => None,
    }
}

fuzz_target!(|template: &str| {
    let lenient = substitute(template, variable, Unset::Empty);
    if let Ok(strict) = substitute(template, variable, Unset::Refuse) {
        assert!(strict.len() <= MAX_OUTPUT);
        assert_eq!(lenient, Ok(strict));
    }
    let quoted = substitute(&template.replace('$', "$$"), variable, Unset::Refuse);
    assert_eq!(quoted.as_deref(), Ok(template));
});
