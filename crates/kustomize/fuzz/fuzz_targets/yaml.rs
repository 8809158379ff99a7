//! Whatever the YAML reader accepts must print, and read back as the same values. The key `<<` in quotes is left out: the
//! reference prints it plain, and what is plain is a merge key.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_yaml::{Limits, Node, Source, emit, parse_documents};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits::default();
    let Ok(source) = Source::read("fuzz", bytes.to_vec(), &limits) else { return };
    let Ok(documents) = parse_documents(&source, &limits) else { return };
    for document in documents {
        let mut text = String::new();
        if has_merge_key(&document) {
            continue;
        }
        if emit(&document, &mut text).is_err() {
            continue;
        }
        let printed = Source::file("printed", text);
        let again = parse_documents(&printed, &limits).expect("what was printed can be read");
        let read = again.first().map(|node| node.to_json().expect("what was printed has values"));
        assert_eq!(read, Some(document.to_json().expect("what prints has values")));
    }
});

fn has_merge_key(node: &Node) -> bool {
    match node {
        Node::Scalar(_) => false,
        Node::Seq(items) => items.iter().any(has_merge_key),
        Node::Map(map) => map.iter().any(|(key, value)| key == "<<" || has_merge_key(value)),
    }
}
