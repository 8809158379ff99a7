//! Other people's programs: built or installed once for this machine.

use std::io::Write;
use std::path::PathBuf;

use crate::{Error, command, repo_path};

/// Set where every program of [`find`] can be had, as in CI: nothing that is tested against them is left out then.
const MUST_NOT_SKIP: &str = "WEIR_TESTS_MUST_NOT_SKIP";

/// The path of a program that `e2e/servers/find` knows; nothing, and a line that says why, when this machine cannot have it.
///
/// # Errors
/// When this machine cannot have it although [`MUST_NOT_SKIP`] says so.
pub async fn find_or_skip(name: &str) -> Result<Option<PathBuf>, Error> {
    found_or_skipped(name, find(name).await, std::env::var_os(MUST_NOT_SKIP).is_none())
}

fn found_or_skipped(
    name: &str,
    found: Result<PathBuf, Error>,
    may_skip: bool,
) -> Result<Option<PathBuf>, Error> {
    match found {
        Ok(path) => Ok(Some(path)),
        Err(error) if may_skip => {
            skipped(&format!("{name} is not available, nothing is tested against it: {error}"));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Says why something is not tested. Written past the test harness, which keeps to itself what tests print that pass.
pub(crate) fn skipped(why: &str) {
    // Who has no standard error is not told.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// The path of a program that `e2e/servers/find` knows.
///
/// # Errors
/// When this machine cannot have it; the error holds what the installation said.
pub(crate) async fn find(name: &str) -> Result<PathBuf, Error> {
    made_by("e2e/servers/find", &[name]).await
}

/// The path of what a script of this repository builds or installs: the last line that it prints.
///
/// # Errors
/// When the script fails; the error holds what it said.
pub(crate) async fn made_by(script: &str, arguments: &[&str]) -> Result<PathBuf, Error> {
    let script = repo_path(script);
    let shown = format!("{} {}", script.display(), arguments.join(" "));
    let spawn = |source| Error::Spawn { program: shown.clone(), source };
    let output = tokio::process::Command::new(&script).args(arguments).output().await.map_err(spawn)?;
    let printed = command::printed(shown.clone(), output)?;
    let path = printed.lines().last().map(PathBuf::from);
    path.ok_or_else(|| Error::Command { command: shown, status: "no path".into(), output: String::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_program_that_is_missing_is_skipped_or_an_error() {
        let missing = async || find("no such program").await;
        assert!(matches!(found_or_skipped("none", missing().await, true), Ok(None)));
        let error = found_or_skipped("none", missing().await, false).unwrap_err();
        assert!(error.to_string().contains("usage: "), "{error}");
    }
}
