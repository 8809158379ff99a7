//! Servers that are other people's programs: built or installed once for this machine.

use std::path::PathBuf;

use crate::{Error, repo_path};

/// The path of a program that `e2e/servers/find` knows.
///
/// # Errors
/// When this machine cannot have it; the error holds what the installation said.
pub(crate) async fn find(name: &str) -> Result<PathBuf, Error> {
    let script = repo_path("e2e/servers/find");
    let shown = format!("{} {name}", script.display());
    let output = tokio::process::Command::new(&script)
        .arg(name)
        .output()
        .await
        .map_err(|source| Error::Spawn { program: shown.clone(), source })?;
    let printed = String::from_utf8_lossy(&output.stdout);
    match printed.lines().last() {
        Some(path) if output.status.success() => Ok(PathBuf::from(path)),
        _ => Err(Error::Command {
            command: shown,
            status: output.status.to_string(),
            output: String::from_utf8_lossy(&output.stderr).into_owned(),
        }),
    }
}
