//! Whatever the YAML reader accepts must print, and read back as the same values.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_yaml::{Limits, Source, emit, parse_documents};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits::default();
    let Ok(source) = Source::read("fuzz", bytes.to_vec(), &limits) else { return };
    let Ok(documents) = parse_documents(&source, &limits) else { return };
    for document in documents {
        let mut text = String::new();
        if emit(&document, &mut text).is_err() {
            continue;
        }
        let printed = Source::file("printed", text);
        let again = parse_documents(&printed, &limits).expect("what was printed can be read");
        let read = again.first().map(|node| node.to_json().expect("what was printed has values"));
        assert_eq!(read, Some(document.to_json().expect("what prints has values")));
    }
});
