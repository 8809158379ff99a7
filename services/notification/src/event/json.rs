//! JSON as Go's `encoding/json` writes it.

use std::io;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

/// Encodes without white space; `<`, `>`, `&`, U+2028 and U+2029 are escaped, as Go does for HTML's sake.
///
/// Values whose encoding can fail (maps with keys that are no strings) do not occur in this service; they would give an
/// empty buffer.
pub fn to_bytes(value: &impl Serialize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut out, GoFormatter);
    if let Err(error) = value.serialize(&mut serializer) {
        tracing::error!(%error, "payload cannot be encoded");
        return Vec::new();
    }
    out
}

/// Returns the object with one more entry, if there is one: for services an absent key differs from an empty one.
pub fn with(mut object: Value, key: &str, value: Option<impl Into<Value>>) -> Value {
    if let (Value::Object(entries), Some(value)) = (&mut object, value) {
        entries.insert(key.to_owned(), value.into());
    }
    object
}

/// Returns a text that is not empty, for keys that Go leaves out with an empty one.
pub fn filled(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

struct GoFormatter;

impl Formatter for GoFormatter {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut written = 0;
        for (start, special) in fragment.match_indices(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            writer.write_all(fragment.get(written..start).unwrap_or_default().as_bytes())?;
            for character in special.chars() {
                write!(writer, "\\u{:04x}", u32::from(character))?;
            }
            written = start + special.len();
        }
        writer.write_all(fragment.get(written..).unwrap_or_default().as_bytes())
    }
}
