//! Functions over texts that both languages have.

use crate::limit::MAX_OUTPUT;

/// Counts bytes, from the end when negative.
pub(crate) fn truncate(count: i64, text: &str) -> String {
    let length = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    let bytes = text.as_bytes();
    let kept = if count < 0 {
        bytes.get(bytes.len().saturating_sub(length)..)
    } else {
        bytes.get(..length.min(bytes.len()))
    };
    String::from_utf8_lossy(kept.unwrap_or_default()).into_owned()
}

/// Replaces all; the result's length is checked before it is made.
pub(crate) fn replace(subject: &str, old: &str, new: &str) -> Result<String, String> {
    let count = if old.is_empty() { subject.len() + 1 } else { subject.matches(old).count() };
    check_length(subject.len().saturating_add(count.saturating_mul(new.len())))?;
    Ok(subject.replace(old, new))
}

/// Refuses a text that would be too long, before it is made.
pub(crate) fn check_length(length: usize) -> Result<(), String> {
    if length > MAX_OUTPUT { Err(format!("string is longer than {MAX_OUTPUT} bytes")) } else { Ok(()) }
}
