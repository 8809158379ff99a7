//! Plugins: programs `flux-NAME` and `weir-NAME` of one folder, which are commands of this program (CLI-PLG01).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use clap::{Command, value_parser};

use crate::environment;
use crate::error::Error;

/// Starts of the names of programs. Where both have one, the last counts.
const PREFIXES: [&str; 2] = ["flux-", "weir-"];
/// Names that no plugin has.
const RESERVED: [&str; 2] = ["plugin", "help"];
/// Folder of plugins in the home folder.
const FOLDER: &str = ".fluxcd/plugins";
/// Any execute bit.
const EXECUTABLE: u32 = 0o111;

/// The plugins that are there, by name.
#[derive(Debug, Default)]
pub(crate) struct Plugins(BTreeMap<String, PathBuf>);

impl Plugins {
    /// Finds the plugins; those that are named as one of the commands are left out. To put the commands together takes time, and
    /// is left out where there is no program.
    pub(crate) fn find(commands: fn() -> Command) -> Self {
        let entries = folder().and_then(|folder| std::fs::read_dir(folder).ok());
        let paths: Vec<PathBuf> = entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        if paths.is_empty() {
            return Self::default();
        }
        let commands = commands();
        let own: BTreeSet<&str> = commands
            .get_subcommands()
            .flat_map(|command| command.get_all_aliases().chain([command.get_name()]))
            .chain(RESERVED)
            .collect();
        let mut found = BTreeMap::new();
        for prefix in PREFIXES {
            let named = paths.iter().filter_map(|path| Some((name(path, prefix)?, path.clone())));
            found.extend(named.filter(|(name, path)| !own.contains(name.as_str()) && is_program(path)));
        }
        Self(found)
    }

    /// Returns true when there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The plugins with their paths, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.0.iter().map(|(name, path)| (name.as_str(), path.as_path()))
    }

    /// Replaces this process by the plugin that it was started for, if it was started for one. Returns the reason if that does not
    /// work.
    pub(crate) fn run(&self, commands: Command) -> Option<Error> {
        let (program, words) = self.called(commands, std::env::args_os().collect())?;
        let cause = std::process::Command::new(program).args(words).exec();
        Some(Error::File { path: program.display().to_string(), cause })
    }

    /// Returns the plugin that a command line calls, and its words: all but its name, also the flags before it.
    pub(crate) fn called(&self, commands: Command, line: Vec<OsString>) -> Option<(&Path, Vec<OsString>)> {
        let parser = value_parser!(OsString);
        let parsed = commands.allow_external_subcommands(true).external_subcommand_value_parser(parser);
        let matches = parsed.try_get_matches_from(&line).ok()?;
        let (name, matches) = matches.subcommand()?;
        let program = self.0.get(name)?.as_path();
        let behind = matches.try_get_many::<OsString>("").ok().flatten().map_or(0, Iterator::count);
        let mut words: Vec<_> = line.into_iter().skip(1).collect();
        words.remove(words.len().checked_sub(behind + 1)?);
        Some((program, words))
    }

    /// Adds the plugins to the commands that help texts list.
    pub(crate) fn listed(&self, commands: Command) -> Command {
        self.0.keys().fold(commands, |commands, name| {
            let about = format!("Run the plugin {name}");
            commands.subcommand(Command::new(name.clone()).about(about).disable_help_flag(true))
        })
    }
}

/// Returns the folder of plugins, if there can be one.
pub(crate) fn folder() -> Option<PathBuf> {
    let given = environment::path("PLUGINS", "FLUXCD_PLUGINS");
    given.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(FOLDER)))
}

fn name(path: &Path, prefix: &str) -> Option<String> {
    let name = path.file_name()?.to_str()?.strip_prefix(prefix)?;
    (!name.is_empty() && !name.starts_with('-')).then(|| name.to_owned())
}

/// Returns true for a regular file that may be run; links are followed.
fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & EXECUTABLE != 0)
}
