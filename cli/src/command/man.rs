//! `weir man`: a man page for each command, made of the tree of commands itself.

use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::roff::{Roff, roman};

use crate::error::Error;
use crate::examples::Epilogue;
use crate::output::progress;

/// The pages to write.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  # Write the pages to where man finds them
  weir man --output ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// Directory for the pages; it is made if it is missing.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

impl Man {
    /// Writes the pages of a command and of all its subcommands.
    pub(crate) fn run(self, command: Command) -> Result<(), Error> {
        std::fs::create_dir_all(&self.output).map_err(|cause| failed(&self.output, cause))?;
        // A page about help would tell nothing.
        let mut command = command.disable_help_subcommand(true);
        command.build();
        let count = write(&command, &self.output)?;
        progress::success(&format!("{count} pages written to {}", self.output.display()));
        Ok(())
    }
}

fn failed(path: &Path, cause: std::io::Error) -> Error {
    Error::File { path: path.display().to_string(), cause }
}

/// Writes the pages of a command and of its subcommands; returns their number.
fn write(command: &Command, directory: &Path) -> Result<usize, Error> {
    let mut count = 1;
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        count += write(subcommand, directory)?;
    }
    // The help of each flag, also of those that only the long help has; and a synopsis without all of them.
    let mut shown = command.clone().mut_args(|flag| flag.hide_short_help(false));
    let usage = shown.render_usage().to_string();
    let shown = shown.override_usage(usage.trim_start_matches("Usage: ").to_owned());
    let man = clap_mangen::Man::new(shown).source(concat!("weir ", env!("CARGO_PKG_VERSION"))).manual("Weir");
    let path = directory.join(man.get_filename());
    let written = page(command, &man).and_then(|page| std::fs::write(&path, page));
    written.map_err(|cause| failed(&path, cause))?;
    Ok(count)
}

fn page(command: &Command, man: &clap_mangen::Man) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    epilogue(&Epilogue::of(command)).to_writer(&mut page)?;
    Ok(page)
}

/// Returns the sections behind those that the flags make.
fn epilogue(Epilogue { notes, examples }: &Epilogue) -> Roff {
    let mut roff = Roff::new();
    if !notes.is_empty() {
        roff.control("SH", ["NOTES"]).text([roman(notes)]);
    }
    if !examples.is_empty() {
        roff.control("SH", ["EXAMPLES"]);
    }
    for example in examples {
        roff.control("PP", []).text([roman(&example.purpose)]);
        // Lines of commands stay as they are.
        roff.control("RS", ["4"]).control("nf", []);
        for line in example.command.lines() {
            roff.text([roman(line)]);
        }
        roff.control("fi", []).control("RE", []);
    }
    roff
}
