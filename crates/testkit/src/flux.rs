//! Flux's own programs, which somebody built beforehand and variables of the environment name.

use std::path::PathBuf;
use std::process::Stdio;

use crate::skip::named_program;
use crate::{ControlPlane, Error};

/// Returns the full path of a program of Flux that a variable of the environment names (`FLUX_CLI`); without it the test is
/// left out. `make test-flux` runs all of these tests.
///
/// # Errors
/// When the variable names a file that is not there.
pub fn flux_program(variable: &str) -> Result<Option<PathBuf>, Error> {
    named_program(variable, "program of Flux")
}

/// Flux's own command line over one namespace. `FLUX_CLI` names it.
#[derive(Debug)]
pub struct FluxCli {
    program: PathBuf,
    kubeconfig: PathBuf,
    namespace: String,
}

impl FluxCli {
    /// Finds the program; nothing, and a line that says why, without it.
    ///
    /// # Errors
    /// When `FLUX_CLI` names a file that is not there.
    pub fn find(plane: &ControlPlane, namespace: &str) -> Result<Option<Self>, Error> {
        let program = flux_program("FLUX_CLI")?;
        let (kubeconfig, namespace) = (plane.kubeconfig_path().to_owned(), namespace.to_owned());
        Ok(program.map(|program| Self { program, kubeconfig, namespace }))
    }

    /// Runs a command, written as one would type it; returns whether it succeeded and all that it printed.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub async fn try_run(&self, line: &str) -> Result<(bool, String), Error> {
        let output = tokio::process::Command::new(&self.program)
            .args(line.split_whitespace())
            .args(["--namespace", &self.namespace, "--timeout", "30s"])
            .env("KUBECONFIG", &self.kubeconfig)
            .stdin(Stdio::null())
            .output()
            .await
            .map_err(|source| Error::Spawn { program: self.program.display().to_string(), source })?;
        let printed = [output.stdout, output.stderr].concat();
        Ok((output.status.success(), String::from_utf8_lossy(&printed).into_owned()))
    }

    /// Runs a command that succeeds and prints all these words; returns what it printed.
    ///
    /// # Errors
    /// [`Error::Command`] when it fails, or does not print a word.
    pub async fn run(&self, line: &str, words: &[&str]) -> Result<String, Error> {
        let (has_succeeded, output) = self.try_run(line).await?;
        let missing = words.iter().find(|word| !output.contains(**word));
        let status = match missing {
            _ if !has_succeeded => "no success".to_owned(),
            Some(word) => format!("no '{word}' in its output"),
            None => return Ok(output),
        };
        Err(Error::Command { command: format!("flux {line}"), status, output })
    }
}
