//! Other people's programs: built or installed once for this machine.

use std::path::PathBuf;

use crate::skip::found_or_skipped;
use crate::{Error, command, repo_path};

/// Returns the path of a program that `e2e/servers/find` knows; nothing, and a line with the reason, when this
/// machine cannot have it.
///
/// # Errors
/// When this machine cannot have it although no test may be left out.
pub async fn find_or_skip(name: &str) -> Result<Option<PathBuf>, Error> {
    found_or_skipped(name, find(name).await)
}

/// The path of a program that is built with the tests (`target/<profile>/<name>`).
///
/// # Errors
/// When it has not been built.
pub fn built_program(name: &str) -> Result<PathBuf, Error> {
    let this = std::env::current_exe().map_err(Error::file(name))?;
    let beside = this.ancestors().skip(1).take(2).map(|folder| folder.join(name));
    beside
        .into_iter()
        .find(|path| path.is_file())
        .ok_or_else(|| Error::ProgramMissing { program: name.into(), hint: "run `cargo build --bins` first" })
}

/// The path of a program that `e2e/servers/find` knows.
///
/// # Errors
/// Fails when this machine cannot have it; the error has the output of the installation.
pub(crate) async fn find(name: &str) -> Result<PathBuf, Error> {
    made_by("e2e/servers/find", &[name]).await
}

/// The path of what a script of this repository builds or installs: the last line that it prints.
///
/// # Errors
/// Fails when the script fails; the error has its output.
pub(crate) async fn made_by(script: &str, arguments: &[&str]) -> Result<PathBuf, Error> {
    let script = repo_path(script);
    let shown = format!("{} {}", script.display(), arguments.join(" "));
    let spawn = |source| Error::Spawn { program: shown.clone(), source };
    let output = tokio::process::Command::new(&script).args(arguments).output().await.map_err(spawn)?;
    let printed = command::printed(shown.clone(), output)?;
    let path = printed.lines().last().map(PathBuf::from);
    path.ok_or_else(|| Error::Command { command: shown, status: "no path".into(), output: String::new() })
}
