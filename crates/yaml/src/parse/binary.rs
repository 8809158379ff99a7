//! `!!binary` values: the bytes, where they are text.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::Text;

/// The decoded value; what is not base64 or not UTF-8 stays as it is written.
pub(super) fn decoded(text: Text) -> Text {
    let compact: String = text.chars().filter(|character| !character.is_ascii_whitespace()).collect();
    match STANDARD.decode(compact).map(String::from_utf8) {
        Ok(Ok(decoded)) => Text::from(decoded),
        _ => text,
    }
}
