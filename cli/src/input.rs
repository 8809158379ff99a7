//! Input from files that flags name, and from people.

use std::io::{BufRead, Read, Write};
use std::path::Path;

use crate::error::Error;

/// Largest file read for a flag, in bytes: keys, certificates, policies and values have some KiB.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// Reads a file that a flag names.
pub(crate) fn text(path: impl AsRef<Path>) -> Result<String, Error> {
    let path = path.as_ref();
    let failed = |cause| Error::File { path: path.display().to_string(), cause };
    let mut text = String::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(MAX_FILE + 1).read_to_string(&mut text));
    match read.map_err(failed)? {
        length if length as u64 > MAX_FILE => {
            Err(failed(std::io::Error::other(format!("larger than {MAX_FILE} bytes"))))
        }
        _ => Ok(text),
    }
}

/// Asks a question; only `y` is yes, and no answer is no (CLI-G15).
pub(crate) fn confirm(question: &str) -> Result<bool, Error> {
    let mut stderr = std::io::stderr().lock();
    write!(stderr, "{question}? [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().take(MAX_FILE).read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y"))
}
