//! The answer of a server to a request: the cuts in its history, the objects in common with us, and a pack.

use std::io::Read;

use gix_hash::ObjectId;

use super::advertisement::object_id;
use super::error::ConversationError;
use super::lines::{Lines, PACK, Packet, trimmed};
use crate::error::Error;

/// Commits at which history is cut: one for each that was fetched, unless the server's own history is cut.
const MAX_ROOTS: usize = 100_000;
/// Bytes that are read at once where a pack comes without lines.
const BUFFER_BYTES: usize = 64 << 10;
/// Bands into which a line may belong, by its first byte.
const DATA: u8 = 1;
const PROGRESS: u8 = 2;
const FAILURE: u8 = 3;

/// The parts of an answer beside its pack.
#[derive(Debug, Default)]
pub struct Answer {
    /// Commits that come without their parents.
    pub(crate) shallow: Vec<ObjectId>,
    /// Commits that were without their parents, which come now.
    pub(crate) unshallow: Vec<ObjectId>,
}

impl Answer {
    /// Reads an answer and hands the bytes of its pack on. `is_cut` is true where the request has named a depth: the
    /// answer has one more part then.
    ///
    /// # Errors
    /// When the answer breaks off, cannot be read or is a refusal, or `pack` fails.
    pub fn read(
        stream: impl Read,
        is_cut: bool,
        mut pack: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let mut lines = Lines::new(stream);
        let mut answer = Self::default();
        let (mut tells_cuts, mut has_pack) = (is_cut, false);
        loop {
            match lines.next()? {
                Packet::Flush if has_pack => return Ok(answer),
                Packet::Flush if tells_cuts => tells_cuts = false,
                Packet::Flush => return Err(ConversationError::NoPack.into()),
                Packet::Pack if has_pack => return Err(ConversationError::unexpected(PACK)),
                Packet::Pack => {
                    pack(PACK)?;
                    copy(lines.into_rest(), pack)?;
                    return Ok(answer);
                }
                Packet::Line(line) => match line.split_first() {
                    Some((&DATA, bytes)) => {
                        has_pack = true;
                        pack(bytes)?;
                    }
                    Some((&PROGRESS, _)) => {}
                    Some((&FAILURE, message)) => return Err(ConversationError::failed(message)),
                    _ => answer.take(trimmed(line))?,
                },
            }
        }
    }

    fn take(&mut self, line: &[u8]) -> Result<(), Error> {
        let word = line.splitn(2, |byte| *byte == b' ').next().unwrap_or_default();
        let rest = line.get(word.len() + 1..).unwrap_or_default();
        let unexpected = || ConversationError::unexpected(line);
        let roots = match word {
            b"ACK" | b"NAK" => return Ok(()),
            b"ERR" => return Err(ConversationError::refused(rest)),
            b"shallow" => &mut self.shallow,
            b"unshallow" => &mut self.unshallow,
            _ => return Err(unexpected()),
        };
        if roots.len() == MAX_ROOTS {
            return Err(Error::Limit {
                what: "number of shallow commits".to_owned(),
                limit: MAX_ROOTS as u64,
            });
        }
        roots.push(object_id(rest).ok_or_else(unexpected)?);
        Ok(())
    }
}

fn copy(mut from: impl Read, mut to: impl FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Error> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let count = from.read(&mut buffer).map_err(ConversationError::stream)?;
        if count == 0 {
            return Ok(());
        }
        to(buffer.get(..count).unwrap_or_default())?;
    }
}

#[cfg(test)]
mod tests;
