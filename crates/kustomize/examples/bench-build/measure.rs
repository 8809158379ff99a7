//! Builds as processes, their output and their cost.

use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result};
use weir_testkit::Cost;

/// Returns the output of a build.
pub(crate) fn output(program: &Path, directory: &Path) -> Result<Output> {
    let mut build = Command::new(program);
    build.arg("build").arg(directory).output().with_context(|| format!("run {}", program.display()))
}

/// Builds `runs` times, and once more for its memory.
pub(crate) fn measure(program: &Path, directory: &Path, runs: usize) -> Result<Cost> {
    let build = |command: &mut Command| {
        command.arg("build").arg(directory);
    };
    Ok(Cost::of(program, runs, build)?)
}
