//! `weir completion` (CLI-CMP01).

use clap::{Args, Command, ValueEnum};
use clap_complete::Shell as Target;

use crate::error::Error;
use crate::output::print;

/// The shell whose script is printed.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  # bash, for this session
  source <(weir completion bash)

  # zsh, for every session
  weir completion zsh > \"${fpath[1]}/_weir\"

  # fish, for every session
  weir completion fish > ~/.config/fish/completions/weir.fish")]
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
    /// Prints the script that completes `command`.
    pub(crate) fn run(self, mut command: Command) -> Result<(), Error> {
        let target = match self.shell {
            Shell::Bash => Target::Bash,
            Shell::Fish => Target::Fish,
            Shell::Powershell => Target::PowerShell,
            Shell::Zsh => Target::Zsh,
        };
        let mut script = Vec::new();
        clap_complete::generate(target, &mut command, "weir", &mut script);
        print(&String::from_utf8_lossy(&script))
    }
}
