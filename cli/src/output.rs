//! What people and programs read: tables and documents on stdout, progress on stderr (CLI-G10).

pub(crate) mod progress;
mod revision;
mod table;
mod time;

use std::io::{ErrorKind, Write};

pub(crate) use revision::shorten;
pub(crate) use table::Table;
pub(crate) use time::rfc3339;

use crate::error::Error;

/// Writes to stdout. A reader that has gone away (`weir get … | head`) is no error.
pub(crate) fn print(text: &str) -> Result<(), Error> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}
