//! `weir create secret`: Secrets in the forms that the services read (cli.md 6).

mod draft;
mod kinds;

use clap::ArgMatches;

pub(crate) use self::draft::{Draft, host_keys};
pub(super) use self::kinds::{TlsFlags, helm};
use super::flag::{self, Flag, Flags};
use super::{metadata, recipe, with_name};
use crate::cluster::Cluster;
use crate::error::Error;
use crate::examples;
use crate::global::Global;
use crate::manifests::PullSecret;
use crate::output::{manifest, print, progress};

/// A kind of Secret.
#[derive(Debug)]
struct Recipe {
    /// Its word.
    word: &'static str,
    /// Name for people.
    human: &'static str,
    about: &'static str,
    /// An example of its flags.
    example: &'static str,
    flags: &'static [&'static [Flag]],
    /// Checks the flags, and makes the Secret of them.
    make: fn(&Flags<'_>, Draft) -> Result<Draft, Error>,
}

/// A Secret to make.
pub(crate) struct Command {
    recipe: &'static Recipe,
    matches: ArgMatches,
}

/// Makes or updates the Secret with which the images of an installation are pulled.
pub(crate) async fn apply_pull_secret(cluster: &Cluster, secret: &PullSecret<'_>) -> Result<(), Error> {
    let draft = Draft::new(secret.name, &cluster.namespace, serde_json::Map::new());
    kinds::pull_secret(draft, secret.registry, secret.username, secret.password)?.apply(cluster).await
}

/// The command line of `create secret`.
pub(super) fn command() -> clap::Command {
    let command = clap::Command::new("secret")
        .about("Create or update Secrets with credentials")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true);
    let command = kinds::ALL.iter().fold(command, |command, recipe| {
        let leaf = clap::Command::new(recipe.word).about(recipe.about);
        let purpose = recipe.about.replace("Create or update", "Print");
        let example = format!("  # {purpose}\n  weir create secret {} {}", recipe.word, recipe.example);
        let leaf = flag::augment(flag::augment(with_name(leaf), recipe.flags), &[recipe::UNUSED_INTERVAL]);
        command.subcommand(examples::with(leaf, &example))
    });
    examples::with_those_of_subcommands(command)
}

impl Command {
    pub(super) fn read(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (word, matches) = matches.subcommand().ok_or_else(missing)?;
        let recipe = kinds::ALL.iter().find(|recipe| recipe.word == word).ok_or_else(missing)?;
        Ok(Self { recipe, matches: matches.clone() })
    }

    /// Makes or prints the Secret.
    pub(super) async fn run(self, global: &Global) -> Result<(), Error> {
        let flags = Flags(&self.matches);
        let name = metadata::name(&flags)?;
        let namespace = global.namespace()?;
        let draft = Draft::new(name, &namespace, metadata::labels(&flags)?);
        let draft = (self.recipe.make)(&flags, draft)?.with_host_keys().await?;
        if flags.is_on("export") {
            // Flux prints an empty line behind all but one kind.
            let end = if self.recipe.word == "tls" { "" } else { "\n" };
            return print(&format!("{}{end}", manifest::document(&draft.manifest())?));
        }
        if let Some(key) = &draft.public_key {
            progress::generating(&format!("deploy key: {}", key.trim_end()));
        }
        // The token of a receiver opens its webhook, not the API server.
        let cluster = match self.recipe.word {
            "receiver" => global.without_token().cluster().await?,
            _ => global.cluster().await?,
        };
        draft.apply(&cluster).await?;
        let human = self.recipe.human;
        progress::action(&format!("{human} secret '{name}' created in '{namespace}' namespace"));
        Ok(())
    }
}
