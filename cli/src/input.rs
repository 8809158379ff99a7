//! Input from files that flags name, and from people.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use secrecy::SecretString;

use crate::error::Error;

/// Largest file read for a flag, in bytes: keys, certificates, policies and values have some KiB.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// Reads a file of text that a flag names.
pub(crate) fn text(path: impl AsRef<Path>) -> Result<String, Error> {
    let no_text = || io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8");
    String::from_utf8(content(&path)?).map_err(|_| unreadable(path.as_ref(), no_text()))
}

/// Reads a file that a flag names, and leaves its encoding to the caller.
pub(crate) fn content(path: impl AsRef<Path>) -> Result<Vec<u8>, Error> {
    let path = path.as_ref();
    bytes(path, MAX_FILE).map_err(|cause| unreadable(path, cause))
}

fn unreadable(path: &Path, cause: io::Error) -> Error {
    Error::Open { path: path.display().to_string(), cause }
}

/// As [`text`], with `failing` in front of the reason.
pub(crate) fn text_or(path: impl AsRef<Path>, failing: &str) -> Result<String, Error> {
    text(path).map_err(|error| Error::Flags(format!("{failing}: {error}")))
}

/// Reads a file that a flag names, of `limit` bytes at most.
pub(crate) fn bytes(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut read = Vec::new();
    let length = std::fs::File::open(path)?.take(limit + 1).read_to_end(&mut read)?;
    if length as u64 > limit {
        return Err(io::Error::other(format!("larger than {limit} bytes")));
    }
    Ok(read)
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

/// Asks for a secret. A terminal does not show it (CLI-G15).
pub(crate) fn secret(question: &str) -> Result<SecretString, Error> {
    let is_terminal = std::io::stdin().is_terminal();
    // Before the question, so that an answer that is pasted at once is not shown either.
    if is_terminal {
        echo("-echo");
    }
    let mut answer = String::new();
    let asked = crate::output::print(question);
    let read = asked.map(|()| std::io::stdin().lock().take(MAX_FILE).read_line(&mut answer));
    if is_terminal {
        echo("echo");
        crate::output::print("\n")?;
    }
    let read = read?;
    let failed =
        |cause: &str| Error::Flags(format!("could not read token: could not read from stdin: {cause}"));
    if read.map_err(|cause| failed(&cause.to_string()))? == 0 {
        return Err(failed("EOF"));
    }
    Ok(SecretString::from(answer.trim_end_matches(['\r', '\n'])))
}

/// Changes if the terminal shows what is typed. Where that cannot be changed, it is shown.
fn echo(setting: &str) {
    let mut stty = Command::new("stty");
    // The terminal is that of standard input.
    let _changed =
        stty.arg(setting).stdin(Stdio::inherit()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}
