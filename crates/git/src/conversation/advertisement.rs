//! The first answer of a server: its references and capabilities.

use std::io::Read;

use gix_hash::{Kind, ObjectId};

use super::error::ConversationError;
use super::lines::{Lines, Packet, trimmed};
use crate::error::Error;
use crate::reference::RemoteRef;

/// References that a remote may list. The largest public repositories have some 500 000, pull requests included.
const MAX_REFS: usize = 2_000_000;
/// Bytes of the list: so many references with names of usual length.
const MAX_LIST_BYTES: usize = 256 << 20;
/// Start of the capability that names the format of ids; servers that do not say it use SHA-1.
const OBJECT_FORMAT: &str = "object-format=";
const SHA1: &str = "sha1";
const SHA256: &str = "sha256";

/// The list of a server.
#[derive(Debug, Default)]
pub struct Advertisement {
    pub(crate) refs: Vec<RemoteRef>,
    capabilities: Vec<String>,
    format: Kind,
}

impl Advertisement {
    /// Reads the list, over HTTP with the announcement of the service before it.
    ///
    /// # Errors
    /// When it breaks off, is none, exceeds the limits, or is of a repository that we cannot read.
    pub fn read(stream: impl Read) -> Result<Self, Error> {
        let mut lines = Lines::new(stream);
        let mut list = Self::default();
        let (mut is_announced, mut bytes) = (false, 0);
        loop {
            let line = match lines.next()? {
                Packet::Line(line) => trimmed(line),
                Packet::Flush if std::mem::take(&mut is_announced) => continue,
                Packet::Flush => break,
                Packet::Pack => return Err(ConversationError::unexpected(super::lines::PACK)),
            };
            bytes += line.len();
            if list.refs.len() > MAX_REFS || bytes > MAX_LIST_BYTES {
                return Err(Error::Limit { what: "number of references".to_owned(), limit: MAX_REFS as u64 });
            }
            match line {
                line if line.starts_with(b"# service=") => is_announced = true,
                line if line.starts_with(b"version ") || line.starts_with(b"shallow ") => {}
                line => match line.strip_prefix(b"ERR ") {
                    Some(message) => return Err(ConversationError::refused(message)),
                    None => list.add(line)?,
                },
            }
        }
        if list.refs.is_empty() { Err(Error::Empty) } else { Ok(list) }
    }

    /// Returns true when the server says that it can something.
    pub(crate) fn offers(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|offered| offered == capability)
    }

    /// Returns the hash that names the objects (DEV 17).
    pub(crate) fn format(&self) -> Kind {
        self.format
    }

    /// The format in the words of the server, which it wants to hear again; nothing when it named none.
    pub(super) fn named_format(&self) -> Option<&str> {
        self.capabilities.iter().map(String::as_str).find(|capability| capability.starts_with(OBJECT_FORMAT))
    }

    /// Returns true when objects can be had that no reference points at.
    pub(crate) fn gives_any_object(&self) -> bool {
        self.offers("allow-any-sha1-in-want") || self.offers("allow-reachable-sha1-in-want")
    }

    /// Returns true when a part of a tree can be had alone.
    pub(crate) fn gives_parts(&self) -> bool {
        self.offers("filter") && self.gives_any_object()
    }

    fn add(&mut self, line: &[u8]) -> Result<(), Error> {
        let mut halves = line.splitn(2, |byte| *byte == 0);
        let head = halves.next().unwrap_or_default();
        if let Some(capabilities) = halves.next() {
            self.capabilities = String::from_utf8_lossy(capabilities).split(' ').map(str::to_owned).collect();
            self.format = match self.named_format().and_then(|format| format.strip_prefix(OBJECT_FORMAT)) {
                None | Some(SHA1) => Kind::Sha1,
                Some(SHA256) => Kind::Sha256,
                Some(_) => return Err(ConversationError::unexpected(capabilities)),
            };
        }
        let invalid = || ConversationError::reference(head);
        let space = head.iter().position(|byte| *byte == b' ').ok_or_else(invalid)?;
        let (id, name) = head.split_at(space);
        let id = object_id(id).filter(|id| id.kind() == self.format).ok_or_else(invalid)?;
        // An empty repository lists its capabilities too; and nobody can request a name that is no text.
        if let Ok(name) = std::str::from_utf8(name.get(1..).unwrap_or_default())
            && !id.is_null()
        {
            self.refs.push(RemoteRef { name: name.to_owned(), id });
        }
        Ok(())
    }
}

/// Returns an id in full; its length decides its format.
pub(super) fn object_id(text: &[u8]) -> Option<ObjectId> {
    ObjectId::from_hex(text).ok()
}

#[cfg(test)]
mod tests;
