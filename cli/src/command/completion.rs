//! `weir completion`, and the answers to shells that complete a command line (CLI-CMP01).
//!
//! The script of a shell calls this program again for each completion, with the words of the command line behind `--` and
//! [`VARIABLE`] set. Commands and flags come from the tree of commands, names from the cluster and the kubeconfig, arguments of a plugin
//! from the plugin.

mod bash;
mod delegate;
mod line;
mod names;

use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Command, ValueEnum};
use clap_complete::CompleteEnv;
use clap_complete::env::{EnvCompleter, Fish, Powershell, Shells, Zsh};

use self::bash::Bash;
use self::delegate::Call;
use self::line::Line;
use crate::cli::commands;
use crate::error::Error;
use crate::output::print;
use crate::plugin::Plugins;

/// Environment variable that asks for completions; its value is the shell.
const VARIABLE: &str = "_WEIR_COMPLETE";

/// The shell whose script is printed.
#[derive(Args, Debug)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:
  # bash, for this session
  source <(weir completion bash)

  # zsh, for every session
  weir completion zsh > \"${fpath[1]}/_weir\"

  # fish, for every session
  weir completion fish > ~/.config/fish/completions/weir.fish"
)]
pub(crate) struct Completion {
    /// The shell.
    shell: Shell,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Fish,
    Powershell,
    Zsh,
}

impl Completion {
    /// Prints the script that completes `weir`, wherever the program is found by that name.
    pub(crate) fn run(self) -> Result<(), Error> {
        let shell: &dyn EnvCompleter = match self.shell {
            Shell::Bash => &clap_complete::env::Bash,
            Shell::Fish => &Fish,
            Shell::Powershell => &Powershell,
            Shell::Zsh => &Zsh,
        };
        let mut script = Vec::new();
        shell.write_registration(VARIABLE, "weir", "weir", "weir", &mut script)?;
        print(&String::from_utf8_lossy(&script))
    }
}

/// Prints the completions of a command line, if this process was started for that. Nobody reads an error there.
pub(crate) fn answer(command: fn() -> Command) -> Option<ExitCode> {
    std::env::var_os(VARIABLE)?;
    let line = Arc::new(Line::of_process());
    let plugins = Plugins::find(command);
    let with_names = || {
        if let Some(call) = called(&plugins, &line) {
            return delegate::commands(call);
        }
        let mut tree = plugins.listed(command());
        tree.build();
        let tree = without_values(tree);
        let tree = names::attach(tree, &[], &names::Asker { line: Arc::clone(&line), command });
        if line.current().is_empty() { without_flags(tree) } else { tree }
    };
    let here = std::env::current_dir().ok();
    let bash = Bash(&line);
    let shells: [&dyn EnvCompleter; 4] = [&bash, &Fish, &Powershell, &Zsh];
    let completion = CompleteEnv::with_factory(with_names).var(VARIABLE).shells(Shells(&shells));
    match completion.try_complete(std::env::args_os(), here.as_deref()) {
        Ok(true) => Some(ExitCode::SUCCESS),
        Ok(false) => None,
        Err(_) => Some(ExitCode::FAILURE),
    }
}

/// Returns the plugin that a line calls, unless its name is still to be completed.
fn called(plugins: &Plugins, line: &Line) -> Option<Call> {
    if plugins.is_empty() {
        return None;
    }
    let (mut words, index) = line.words();
    words.truncate(index);
    let (program, words) = plugins.called(commands(), words)?;
    Some(Call { program: program.to_owned(), words })
}

/// Makes flags that are on or off take nothing: their value stands behind `=` only, and the next word is another one.
fn without_values(command: Command) -> Command {
    let bare = |arg: clap::Arg| if arg.is_require_equals_set() { arg.num_args(0) } else { arg };
    command.mut_args(bare).mut_subcommands(without_values)
}

/// Hides all flags, which a shell would else mix with the names wherever a word may begin.
fn without_flags(command: Command) -> Command {
    let hide = |arg: clap::Arg| if arg.is_positional() { arg } else { arg.hide(true) };
    command.mut_args(hide).mut_subcommands(without_flags)
}
