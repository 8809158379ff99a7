//! `Link` is a registry's text that names the receiver of the next credentials, which must be the registry that they
//! are for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use url::Url;

fuzz_target!(|text: &str| {
    let list = Url::parse("https://registry.example:5000/v2/app/tags/list?n=1000").unwrap();
    if let Ok(Some(next)) = weir_oci::next_page(&list, text.lines()) {
        assert_eq!(next.origin(), list.origin());
    }
});
