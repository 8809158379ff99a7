//! Faults of JSON in Go's words.

use serde_json::{Error, Value};

/// Places where a character is wrong, by the parser's words for them.
const PLACES: [(&str, &str); 8] = [
    ("expected value", "looking for beginning of value"),
    ("expected `,` or `}`", "after object key:value pair"),
    ("expected `,` or `]`", "after array element"),
    ("expected `:`", "after object key"),
    ("key must be a string", "looking for beginning of object key string"),
    ("trailing characters", "after top-level value"),
    ("control character (", "in string literal"),
    ("invalid escape", "in string escape code"),
];

/// Returns the reason for which the text is not read. Faults of syntax count before values of other types. The rest is
/// in the words of the parser.
pub(super) fn fault(json: &[u8], error: &Error) -> String {
    let syntax = serde_json::from_slice::<Value>(json).err();
    let error = syntax.as_ref().unwrap_or(error);
    if error.is_eof() {
        return "unexpected end of JSON input".to_owned();
    }
    let message = error.to_string();
    let character = character(json, error);
    let place = match character {
        Some(b']') if message.starts_with("trailing comma") => Some("looking for beginning of value"),
        Some(_) if message.starts_with("trailing comma") => {
            Some("looking for beginning of object key string")
        }
        _ => PLACES.iter().find(|(words, _)| message.starts_with(words)).map(|(_, place)| *place),
    };
    match (character, place) {
        (Some(character), Some(place)) => format!("invalid character {} {place}", quoted(character)),
        _ => message,
    }
}

/// The character at which the parser stopped.
fn character(json: &[u8], error: &Error) -> Option<u8> {
    let lines = json.split_inclusive(|byte| *byte == b'\n').take(error.line().checked_sub(1)?);
    let start: usize = lines.map(<[u8]>::len).sum();
    json.get((start + error.column()).checked_sub(1)?).copied()
}

fn quoted(character: u8) -> String {
    match character {
        b'"' => "'\"'".to_owned(),
        other => format!("'{}'", std::ascii::escape_default(other)),
    }
}
