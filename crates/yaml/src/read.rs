//! From bytes to text that may be parsed.

use std::sync::Arc;

use crate::{Limits, Source, YamlError};

impl Source {
    /// Checks size, encoding and control characters, drops a byte order mark and turns CRLF into LF (KZ-601).
    ///
    /// # Errors
    /// The input is larger than [`Limits::bytes`], neither UTF-8 nor UTF-16 with its mark, or holds control characters.
    pub fn read(name: impl Into<String>, bytes: Vec<u8>, limits: &Limits) -> Result<Arc<Self>, YamlError> {
        if bytes.len() > limits.bytes {
            return Err(YamlError::TooLarge { size: bytes.len(), limit: limits.bytes });
        }
        let mut text = match utf16(&bytes) {
            Some(text) => text,
            None => String::from_utf8(bytes).map_err(|error| {
                let offset = error.utf8_error().valid_up_to();
                let line = count_lines(error.as_bytes().get(..offset).unwrap_or_default());
                YamlError::Encoding { line, offset }
            })?,
        };
        if let Some(rest) = text.strip_prefix('\u{feff}') {
            text = rest.to_owned();
        }
        if let Some(offset) = forbidden_control(text.as_bytes()) {
            let line = count_lines(text.as_bytes().get(..offset).unwrap_or_default());
            return Err(YamlError::ControlCharacter { line });
        }
        if text.contains("\r\n") {
            text = text.replace("\r\n", "\n");
        }
        Ok(Self::file(name, text))
    }
}

/// Reads UTF-16 with a byte order mark, which is what `>` writes in a PowerShell of Windows.
fn utf16(bytes: &[u8]) -> Option<String> {
    let (mark, rest) = bytes.split_first_chunk::<2>()?;
    let (pairs, []) = rest.as_chunks::<2>() else { return None };
    let unit = match mark {
        [0xff, 0xfe] => u16::from_le_bytes,
        [0xfe, 0xff] => u16::from_be_bytes,
        _ => return None,
    };
    let units: Vec<u16> = pairs.iter().copied().map(unit).collect();
    String::from_utf16(&units).ok()
}

fn count_lines(before: &[u8]) -> usize {
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

fn forbidden_control(bytes: &[u8]) -> Option<usize> {
    let is_forbidden = |byte: &u8| (*byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r')) || *byte == 0x7f;
    bytes.iter().position(is_forbidden)
}
