//! `weir plan`: what another revision of a source would change in the cluster, before it is merged.
//!
//! ```text
//! branch or folder ─► files ─► Kustomizations and their builds ─► changes ─► report
//!      (revision)                        (forest)                 (outcome)
//! ```
//!
//! Nothing is written: the API server tries each apply as a dry-run, and objects that would be pruned are only looked at.

mod forest;
mod outcome;
mod report;
mod revision;

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};

use self::forest::Forest;
use self::revision::{Files, GitRevision};
use crate::changes::verdict;
use crate::cluster::Cluster;
use crate::command::build::kustomization::or_cancelled;
use crate::command::build::remote::ServiceRemoteFlags;
use crate::error::Error;
use crate::global::Global;
use crate::kind::{Kind, is_suspended};
use crate::output::progress::{self, Ticker};
use crate::output::{Paint, manifest, print};
use crate::verb::{Target, Verb};

/// The kind whose revisions can be fetched.
const GIT: &str = "GitRepository";

/// The source, and the revision to look at.
#[derive(Debug)]
pub(crate) struct Plan {
    target: Target,
    flags: Flags,
    revision: GitRevision,
}

#[derive(Args, Debug)]
struct Flags {
    /// Name of the source.
    name: Option<String>,
    /// Directory that stands for the root of the source.
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
    /// Fail when a variable without a default is not set.
    #[arg(long)]
    strict_substitute: bool,
    #[command(flatten)]
    remote: ServiceRemoteFlags,
    /// Form of the output; a report for people without it.
    #[arg(short, long, value_name = "FORM")]
    output: Option<Form>,
}

/// Form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

impl Verb for Plan {
    const WORD: &'static str = "plan";
    const EXAMPLES: &'static str = "  # The changes that a branch would make, once it is merged
  weir plan source git podinfo --branch feature

  # The changes that local files would make
  weir plan source git podinfo --path ./kustomize";

    fn applies_to(kind: &Kind) -> bool {
        [GIT, "OCIRepository", "Bucket", "ExternalArtifact"].contains(&kind.name)
    }

    fn about(target: Target) -> String {
        match target {
            Target::Kind(kind) if kind.name == GIT => {
                "Show what another revision of a GitRepository, or a folder, would change".to_owned()
            }
            Target::Kind(kind) => {
                format!("Show what a folder would change in the place of one {}'s artifact", kind.name)
            }
            Target::Group(_) | Target::All => {
                "Show what another revision of a source would change".to_owned()
            }
        }
    }

    fn examples(target: Target, command: &str) -> String {
        let folder = format!(
            "  # The changes that local files would make\n  {command} podinfo --path ./kustomize\n\n  \
               # The same for a program\n  {command} podinfo --path ./kustomize --output json"
        );
        match target {
            Target::Kind(kind) if kind.name == GIT => format!(
                "  # The changes that a branch would make, once it is merged\n  \
                 {command} podinfo --branch feature\n\n{folder}"
            ),
            _ => folder,
        }
    }

    fn arguments(target: Target, command: Command) -> Command {
        let command = Flags::augment_args(command);
        match target {
            Target::Kind(kind) if kind.name == GIT => GitRevision::augment_args(command),
            _ => command,
        }
    }

    fn read(target: Target, matches: &ArgMatches) -> Result<Self, clap::Error> {
        let revision = match target {
            Target::Kind(kind) if kind.name == GIT => GitRevision::from_arg_matches(matches)?,
            _ => GitRevision::default(),
        };
        Ok(Self { target, flags: Flags::from_arg_matches(matches)?, revision })
    }
}

/// Returns the verdict. Several errors have a line each: they are about Kustomizations of their own.
fn judge(report: &report::Report) -> Result<(), Error> {
    let errors = report.errors();
    if errors.len() < 2 {
        return verdict(report.counts().any(), &errors);
    }
    errors.iter().for_each(|error| progress::failure(error));
    let message = format!("{} errors: the plan is not complete", errors.len());
    Err(Error::diff(Error::Api(message)))
}

impl Plan {
    /// Compares and prints; Ctrl-C ends it.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        or_cancelled(async {
            for kind in self.target.kinds() {
                let report = self.report(kind, global).await.map_err(Error::diff)?;
                print(&self.text(&report).map_err(Error::diff)?)?;
                judge(&report)?;
            }
            Ok(())
        })
        .await
    }

    async fn report(&self, kind: &'static Kind, global: &Global) -> Result<report::Report, Error> {
        let name = self.flags.name.as_deref().ok_or(Error::NameRequired("source"))?;
        let wanted = self.revision.or_folder(self.flags.path.as_deref())?;
        let cluster = global.cluster().await?;
        let source = cluster.get(kind, name).await?;
        if is_suspended(&source) {
            progress::warning(&format!(
                "{} {name} is suspended: no revision is applied before it is resumed",
                kind.name
            ));
        }
        let files = Files::read(&cluster, kind, &source, &wanted).await?;
        let subject = format!("{}/{}/{name}", kind.name, cluster.namespace);
        let (revision, ticker) = (files.revision.clone(), Ticker::new(true));
        let planning = self.outcomes(&cluster, &subject, files, &ticker);
        let outcomes = cluster.in_time(planning).await??;
        Ok(report::Report { source: subject, revision, outcomes })
    }

    async fn outcomes(
        &self,
        cluster: &Cluster,
        source: &str,
        files: Files,
        ticker: &Ticker,
    ) -> Result<Vec<outcome::Outcome>, Error> {
        let builder =
            forest::Builder::new(cluster, files, self.flags.strict_substitute, self.flags.remote.remote());
        let planned = Forest::new(cluster, source, builder, ticker).await?.grown().await?;
        if planned.is_empty() {
            progress::warning(&format!("no Kustomization has {source} as its source"));
        }
        Ok(outcome::of(cluster, planned, ticker).await)
    }

    fn text(&self, report: &report::Report) -> Result<String, Error> {
        match self.flags.output {
            None => Ok(report.text(Paint::of_stdout())),
            Some(Form::Yaml) => manifest::yaml(&report.value()),
            Some(Form::Json) => {
                Ok(serde_json::to_string_pretty(&report.value()).map_err(std::io::Error::from)? + "\n")
            }
        }
    }
}
