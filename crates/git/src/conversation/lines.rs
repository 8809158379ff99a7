//! Lines with their length in front, of which the protocol is made.

use std::io::{self, Read};

use super::error::{ConversationError, shown};
use crate::error::Error;

/// Bytes of one line with its length: the protocol's own cap.
const MAX_LINE_BYTES: usize = 65_520;
const LENGTH_BYTES: usize = 4;
/// First bytes of a pack. Servers without side band send it where a line would be.
pub(super) const PACK: &[u8; LENGTH_BYTES] = b"PACK";

/// The next packet.
pub(super) enum Packet<'a> {
    /// The end of a part of the conversation.
    Flush,
    /// A line.
    Line(&'a [u8]),
    /// A pack that is no line; [`PACK`] has been read of it.
    Pack,
}

/// Reads lines.
pub(super) struct Lines<R> {
    stream: R,
    line: Vec<u8>,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(stream: R) -> Self {
        Self { stream, line: Vec::new() }
    }

    pub(super) fn next(&mut self) -> Result<Packet<'_>, Error> {
        let mut head = [0; LENGTH_BYTES];
        self.stream.read_exact(&mut head).map_err(ConversationError::stream)?;
        if &head == PACK {
            return Ok(Packet::Pack);
        }
        match length(head) {
            Some(0) => Ok(Packet::Flush),
            Some(length @ LENGTH_BYTES..=MAX_LINE_BYTES) => {
                self.line.resize(length - LENGTH_BYTES, 0);
                self.stream.read_exact(&mut self.line).map_err(ConversationError::stream)?;
                Ok(Packet::Line(&self.line))
            }
            _ => Err(ConversationError::Length { length: shown(&head) }.into()),
        }
    }

    /// Returns the bytes behind the last packet.
    pub(super) fn into_rest(self) -> R {
        self.stream
    }
}

impl ConversationError {
    pub(super) fn stream(source: io::Error) -> Error {
        match source.kind() {
            io::ErrorKind::UnexpectedEof => Self::Ended.into(),
            _ => Self::Stream { source }.into(),
        }
    }

    /// A refusal in a line of its own.
    pub(super) fn refused(message: &[u8]) -> Error {
        Self::Refused { place: "remote", message: shown(message) }.into()
    }

    /// A failure beside the pack, in the band for failures.
    pub(super) fn failed(message: &[u8]) -> Error {
        Self::Refused { place: "unexpected", message: shown(message) }.into()
    }

    pub(super) fn reference(line: &[u8]) -> Error {
        Self::Reference { line: shown(line) }.into()
    }

    pub(super) fn unexpected(line: &[u8]) -> Error {
        Self::Unexpected { line: shown(line) }.into()
    }
}

fn length(head: [u8; LENGTH_BYTES]) -> Option<usize> {
    head.iter().try_fold(0, |length, byte| Some(length * 16 + char::from(*byte).to_digit(16)? as usize))
}

/// A line without the end that most servers give it.
pub(super) fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

/// Appends a line; those that are written here are far below the cap.
pub(super) fn put(out: &mut Vec<u8>, line: &str) {
    out.extend(format!("{:04x}{line}", line.len() + LENGTH_BYTES).bytes());
}
