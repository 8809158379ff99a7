//! `weir delete` (CLI-DEL01).

use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::error::Error;
use crate::global::Global;
use crate::input;
use crate::kind::{Kind, Verbs};
use crate::output::progress;
use crate::verb::{Target, Verb};

/// The object to delete.
#[derive(Debug)]
pub(crate) struct Delete {
    target: Target,
    object: Object,
}

#[derive(Args, Debug)]
struct Object {
    /// Name of the object.
    name: Option<String>,
    /// Delete without asking.
    #[arg(short, long)]
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

    fn flags(_: Target, command: Command) -> Command {
        Object::augment_args(command)
    }

    fn read(target: Target, matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self { target, object: Object::from_arg_matches(matches)? })
    }
}

impl Delete {
    /// Deletes the object after it was confirmed; does not wait for finalizers.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        for kind in self.target.kinds() {
            let name = self.object.name.as_deref().ok_or(Error::NameRequired(kind.human))?;
            let cluster = &global.cluster().await?;
            cluster.get(kind, name).await?;
            let question = format!("Are you sure you want to delete this {}", kind.human);
            if !self.object.silent && !input::confirm(&question)? {
                return Err(Error::Aborted);
            }
            progress::action(&format!("deleting {} {name} in {} namespace", kind.human, cluster.namespace));
            cluster.delete(kind, name).await?;
            progress::success(&format!("{} deleted", kind.human));
        }
        Ok(())
    }
}
