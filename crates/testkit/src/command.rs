//! Programs that run to their end.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use crate::Error;

/// Runs a program and returns what it printed.
///
/// # Errors
/// [`Error::Command`] with its standard error when it fails.
pub(crate) fn run(program: &str, arguments: &[&str], input: &[u8]) -> Result<String, Error> {
    output_of(Command::new(program).args(arguments), input)
}

/// Runs a command with `input` as its standard input and returns what it printed.
///
/// # Errors
/// [`Error::Command`] with its standard error when it fails.
pub(crate) fn output_of(command: &mut Command, input: &[u8]) -> Result<String, Error> {
    let shown = shown(command);
    let spawn = |source| Error::Spawn { program: shown.clone(), source };
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.spawn().map_err(spawn)?;
    if let Some(mut pipe) = child.stdin.take() {
        // When the program ends without reading, its exit status has the reason.
        let _ = pipe.write_all(input);
    }
    let output = child.wait_with_output().map_err(spawn)?;
    printed(shown, output)
}

/// Returns the output of a program that has ended.
///
/// # Errors
/// [`Error::Command`] with its standard error when it failed.
pub(crate) fn printed(command: String, output: Output) -> Result<String, Error> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let status = output.status.to_string();
    Err(Error::Command { command, status, output: String::from_utf8_lossy(&output.stderr).into_owned() })
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
