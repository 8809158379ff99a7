//! `weir delete` (CLI-DEL01).

use clap::{ArgMatches, Args, Command, FromArgMatches};
use weir_runtime::args::Switch;

use crate::error::Error;
use crate::global::Global;
use crate::input;
use crate::kind::{Group, Kind, Verbs};
use crate::output::progress;
use crate::verb::{Target, Verb};

/// The object to delete.
#[derive(Debug)]
pub(crate) struct Delete {
    target: Target,
    name: Option<String>,
    flags: Flags,
}

#[derive(Args, Debug)]
struct Name {
    /// Name of the object.
    name: Option<String>,
}

#[derive(Args, Debug)]
struct Flags {
    /// Delete without asking.
    #[arg(short, long, switched_off())]
    silent: bool,
}

impl Verb for Delete {
    const WORD: &'static str = "delete";
    const EXAMPLES: &'static str = "  # Delete a Kustomization, and what it applied
  weir delete kustomization podinfo

  # Delete a Git source
  weir delete source git podinfo";

    fn applies_to(kind: &Kind) -> bool {
        kind.verbs != Verbs::Get
    }

    fn about(target: Target) -> String {
        match target {
            Target::Kind(kind) => format!("Delete one {}", kind.name),
            Target::Group(group) => format!("Delete {}", group.about()),
            Target::All => "Delete everything".to_owned(),
        }
    }

    fn examples(target: Target, command: &str) -> String {
        let noun = target.noun();
        format!(
            "  # Delete one {noun} after a question\n  {command} podinfo\n\n  \
               # Delete one of another namespace, without a question\n  {command} podinfo --namespace apps --silent"
        )
    }

    fn common_flags(group: Option<Group>, command: Command) -> Command {
        if group.is_none() { Flags::augment_args(command) } else { command }
    }

    fn arguments(_: Target, command: Command) -> Command {
        Name::augment_args(command)
    }

    fn read(target: Target, matches: &ArgMatches) -> Result<Self, clap::Error> {
        let Name { name } = Name::from_arg_matches(matches)?;
        Ok(Self { target, name, flags: Flags::from_arg_matches(matches)? })
    }
}

impl Delete {
    /// Deletes the object after it was confirmed; does not wait for finalizers.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        for kind in self.target.kinds() {
            let name = self.name.as_deref().ok_or(Error::NameRequired(kind.human))?;
            let cluster = &global.cluster().await?;
            cluster.get(kind, name).await?;
            let question = format!("Are you sure you want to delete this {}", kind.human);
            if !self.flags.silent && !input::confirm(&question)? {
                return Err(Error::Aborted);
            }
            progress::action(&format!("deleting {} {name} in {} namespace", kind.human, cluster.namespace));
            cluster.delete(kind, name).await?;
            progress::success(&format!("{} deleted", kind.human));
        }
        Ok(())
    }
}
