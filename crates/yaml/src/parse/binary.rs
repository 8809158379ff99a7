//! `!!binary` values: the bytes, as text.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::Text;

/// The decoded value, with a replacement character for each byte that is no UTF-8, as Go's JSON has it; `None` for what is
/// not base64.
pub(super) fn decoded(text: &str) -> Option<Text> {
    let compact = text.replace(['\n', '\r'], "");
    let bytes = STANDARD.decode(compact).ok()?;
    let mut decoded = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        decoded.push_str(chunk.valid());
        decoded.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Some(Text::from(decoded))
}
