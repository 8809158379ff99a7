//! A page of tags is a registry's text; a short one stays short.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|page: &[u8]| {
    if let Ok(tags) = weir_oci::tags_of_page(page) {
        // A tag is its quotes at least, and no escape is shorter than what it stands for.
        let bytes: usize = tags.iter().map(|tag| tag.len() + 2).sum();
        assert!(bytes <= page.len());
    }
});
