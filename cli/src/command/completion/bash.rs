use std::ffi::OsString;
use std::io::{Result, Write};
use std::path::Path;

use clap::Command;
use clap_complete::engine::complete;
use clap_complete::env::EnvCompleter;

use super::line::Line;

/// Bash, which breaks words at `=`: completes the words as people see them.
pub(super) struct Bash<'l>(pub(super) &'l Line);

impl EnvCompleter for Bash<'_> {
    fn name(&self) -> &'static str {
        "bash"
    }

    fn is(&self, name: &str) -> bool {
        name == self.name()
    }

    fn write_registration(
        &self,
        variable: &str,
        name: &str,
        program: &str,
        completer: &str,
        to: &mut dyn Write,
    ) -> Result<()> {
        clap_complete::env::Bash.write_registration(variable, name, program, completer, to)
    }

    fn write_complete(
        &self,
        command: &mut Command,
        _: Vec<OsString>,
        here: Option<&Path>,
        to: &mut dyn Write,
    ) -> Result<()> {
        let (words, index) = self.0.words();
        let found = complete(command, words, index, here)?;
        let found: Vec<_> = found.iter().map(|one| one.get_value().to_string_lossy()).collect();
        let between = std::env::var("_CLAP_IFS").unwrap_or_else(|_| "\n".into());
        write!(to, "{}", found.join(&between))
    }
}
