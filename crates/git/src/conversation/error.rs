//! The errors of a conversation with a server.

use std::io;

/// Bytes of a server's own words that are shown.
const MAX_MESSAGE_BYTES: usize = 1024;

/// An answer that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConversationError {
    /// The answer ended too early.
    #[error("the Git server broke off: unexpected EOF")]
    Ended,
    /// The connection broke.
    #[error("the connection to the Git server broke: {source}")]
    Stream {
        /// How.
        #[source]
        source: io::Error,
    },
    /// Something that does not begin with the length of a line.
    #[error("the Git server sent a line whose length cannot be read: '{length}'")]
    Length {
        /// Text in place of the length.
        length: String,
    },
    /// A line of the list that is no reference.
    #[error("the Git server listed something that is no reference: '{line}'")]
    Reference {
        /// The line.
        line: String,
    },
    /// A line where there is none of its kind.
    #[error("the Git server sent something unexpected: '{line}'")]
    Unexpected {
        /// The line.
        line: String,
    },
    /// An answer without objects.
    #[error("the Git server sent no objects")]
    NoPack,
    /// The server gives a reason for its refusal.
    #[error("{place} error: {message}")]
    Refused {
        /// Flux's word for the part of the answer in which the reason stands.
        place: &'static str,
        /// Its words.
        message: String,
    },
}

impl ConversationError {
    /// The same with other words of the server.
    pub(crate) fn map_words(self, map: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Length { length } => Self::Length { length: map(length) },
            Self::Reference { line } => Self::Reference { line: map(line) },
            Self::Unexpected { line } => Self::Unexpected { line: map(line) },
            Self::Refused { place, message } => Self::Refused { place, message: map(message) },
            other => other,
        }
    }
}

/// A server's words as a message may carry them. Git ends some of its own with a NUL.
pub(super) fn shown(words: &[u8]) -> String {
    let words = words.get(..MAX_MESSAGE_BYTES).unwrap_or(words);
    let text = String::from_utf8_lossy(words);
    text.trim_matches(|c: char| c.is_whitespace() || c.is_control())
        .chars()
        .map(|char| if char.is_control() { ' ' } else { char })
        .collect()
}
