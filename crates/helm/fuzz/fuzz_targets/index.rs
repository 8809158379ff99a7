//! Any index is refused or becomes JSON, and that JSON is an index that becomes itself.
#![no_main]

use std::io::{Cursor, Read, Seek};

use libfuzzer_sys::fuzz_target;
use weir_helm::index::{convert, releases};

fn converted(raw: &[u8]) -> Option<Vec<u8>> {
    let mut out = tempfile::tempfile().unwrap();
    convert(Cursor::new(raw), &mut out).ok()?;
    out.rewind().unwrap();
    let mut json = Vec::new();
    out.read_to_end(&mut json).unwrap();
    Some(json)
}

fuzz_target!(|raw: &[u8]| {
    let Some(json) = converted(raw) else { return };
    let parsed: serde_json::Value = serde_json::from_slice(&json).unwrap();
    for (chart, versions) in parsed["entries"].as_object().unwrap() {
        let found = releases(json.as_slice(), chart).unwrap().unwrap();
        assert_eq!(found.len(), versions.as_array().map_or(0, Vec::len));
    }
    assert_eq!(converted(&json).unwrap(), json);
});
