//! The output for people and programs: tables and documents on stdout, progress on stderr (CLI-G10).

pub(crate) mod manifest;
mod paint;
pub(crate) mod progress;
mod revision;
mod table;
mod time;

use std::io::{ErrorKind, Write};

pub(crate) use self::paint::{Colour, Paint, width};
pub(crate) use self::revision::shorten;
pub(crate) use self::table::Table;
pub(crate) use self::time::{age, rfc3339};
use crate::error::Error;

/// Returns the text without what steers a terminal: whoever can write a status could else write to the screens of all who
/// look at it. Ends of lines and tabs stay.
pub(crate) fn plain(text: &str) -> String {
    let is_harmful = |char: char| char.is_control() && !matches!(char, '\n' | '\t');
    text.replace(is_harmful, "\u{fffd}")
}

/// Returns the width of the terminal that stdout is; nothing for files and pipes.
pub(crate) fn terminal_width() -> Option<usize> {
    let (terminal_size::Width(width), _) = terminal_size::terminal_size_of(std::io::stdout())?;
    Some(usize::from(width)).filter(|width| *width > 0)
}

/// Returns the lines of the terminal that stdout is; nothing for files and pipes.
pub(crate) fn terminal_height() -> Option<usize> {
    let (_, terminal_size::Height(height)) = terminal_size::terminal_size_of(std::io::stdout())?;
    Some(usize::from(height)).filter(|height| *height > 0)
}

/// Writes to stdout. A reader that has gone away (`weir get … | head`) is no error: what the command does is still done.
pub(crate) fn print(text: &str) -> Result<(), Error> {
    match print_next(text) {
        Err(Error::ReaderGone) => Ok(()),
        printed => printed,
    }
}

/// Writes the next piece of an output that may go on for ever. When its reader has gone away (`weir logs --follow | head`), the
/// command has nothing more to do.
pub(crate) fn print_next(text: &str) -> Result<(), Error> {
    print_bytes(text.as_bytes())
}

/// As [`print_next`], whatever the bytes are.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), Error> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Error::ReaderGone),
        written => Ok(written?),
    }
}
