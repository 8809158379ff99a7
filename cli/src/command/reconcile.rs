//! `weir reconcile`: asks for a reconciliation now and waits until it is done (CLI-REC01 to CLI-REC04).

use clap::{ArgMatches, Args, Command};
use jiff::Timestamp;
use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::{Map, json};

use crate::cluster::Cluster;
use crate::error::Error;
use crate::global::Global;
use crate::kind::{Kind, Verbs, is_suspended, last_handled, ready, text};
use crate::output::progress;
use crate::readiness::is_handled;
use crate::verb::{Target, Verb, is_on};

/// The object to reconcile.
#[derive(Debug)]
pub(crate) struct Reconcile {
    target: Target,
    name: Option<String>,
    with_source: bool,
    /// Annotations of HelmReleases that get the time of the request too.
    marks: Vec<&'static str>,
}

#[derive(Args, Debug)]
struct Object {
    /// Name of the object.
    name: Option<String>,
}

#[derive(Args, Debug)]
struct WithSource {
    /// Reconcile the object's source first.
    #[arg(long)]
    with_source: bool,
}

#[derive(Args, Debug)]
struct OfRelease {
    /// Install or upgrade the release once, also if nothing has changed.
    #[arg(long)]
    force: bool,
    /// Forget the failures of the release, so that it is tried again.
    #[arg(long)]
    reset: bool,
}

/// Kind of Helm releases, which Flux's helm-controller reconciles.
const HELM_RELEASE: &str = "HelmRelease";
/// Kind of their charts.
const HELM_CHART: &str = "HelmChart";
/// Flags of HelmReleases, and the annotations that they mean (CLI-REC04).
const MARKS: [(&str, &str); 2] =
    [("force", "reconcile.fluxcd.io/forceAt"), ("reset", "reconcile.fluxcd.io/resetAt")];

impl Verb for Reconcile {
    const WORD: &'static str = "reconcile";
    const EXAMPLES: &'static str = "  # Fetch a Git repository now
  weir reconcile source git podinfo

  # Fetch the source of a Kustomization, and apply it
  weir reconcile kustomization podinfo --with-source";

    fn applies_to(kind: &Kind) -> bool {
        kind.verbs == Verbs::All
    }

    fn about(target: Target) -> String {
        match target {
            Target::Kind(kind) => format!("Reconcile one {} now, and wait until that is done", kind.name),
            Target::Group(group) => format!("Reconcile {} now", group.about()),
            Target::All => "Reconcile everything".to_owned(),
        }
    }

    fn examples(target: Target, command: &str) -> String {
        let noun = target.noun();
        let mut text = format!(
            "  # Reconcile one {noun} now, and wait\n  {command} podinfo\n\n  \
               # One of another namespace, for a minute at most\n  {command} podinfo --namespace apps --timeout 1m"
        );
        if let Target::Kind(kind) = target
            && !kind.sources.is_empty()
        {
            text.push_str(&format!("\n\n  # Its source first\n  {command} podinfo --with-source"));
            if kind.name == HELM_RELEASE {
                text.push_str(&format!(
                    "\n\n  # Try it again after failures\n  {command} podinfo --reset --force"
                ));
            }
        }
        text
    }

    fn arguments(target: Target, command: Command) -> Command {
        let command = Object::augment_args(command);
        let Target::Kind(kind) = target else { return command };
        let command = if kind.sources.is_empty() { command } else { WithSource::augment_args(command) };
        if kind.name == HELM_RELEASE { OfRelease::augment_args(command) } else { command }
    }

    fn read(target: Target, matches: &ArgMatches) -> Result<Self, clap::Error> {
        let name = matches.get_one::<String>("name").cloned();
        let marks = MARKS.into_iter().filter(|(flag, _)| is_on(matches, flag));
        let marks = marks.map(|(_, annotation)| annotation).collect();
        Ok(Self { target, name, with_source: is_on(matches, "with_source"), marks })
    }
}

impl Reconcile {
    /// Requests a reconciliation, waits, and prints the result.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        for kind in self.target.kinds() {
            let name = self.name.as_deref().ok_or(Error::NameRequired(kind.name))?;
            let cluster = &global.cluster().await?;
            if self.with_source {
                let object = cluster.get(kind, name).await?;
                if is_suspended(&object) {
                    return Err(Error::Suspended);
                }
                reconcile_sources(cluster, kind, &object).await?;
            }
            reconcile(cluster, kind, name, &self.marks).await?;
        }
        Ok(())
    }
}

/// A source, seen from its namespace.
struct Source {
    cluster: Cluster,
    kind: &'static Kind,
    name: String,
}

/// Reconciles what an object is made from; of a Helm release that is its chart, which is made from a repository itself.
async fn reconcile_sources(cluster: &Cluster, kind: &Kind, object: &DynamicObject) -> Result<(), Error> {
    let source = source_of(cluster, kind, object)?;
    if kind.name == HELM_RELEASE && source.kind.name == HELM_CHART {
        let chart = source.cluster.get(source.kind, &source.name).await?;
        if is_suspended(&chart) {
            return Err(Error::Suspended);
        }
        let Source { cluster, kind, name } = source_of(&source.cluster, source.kind, &chart)?;
        reconcile(&cluster, kind, &name, &[]).await?;
    }
    reconcile(&source.cluster, source.kind, &source.name, &[]).await
}

fn source_of(cluster: &Cluster, kind: &Kind, object: &DynamicObject) -> Result<Source, Error> {
    let part = |path: &str| text(object, path);
    let (of_kind, name, namespace) = match (kind.name, part("/spec/chartRef/name")) {
        (HELM_RELEASE, name) if !name.is_empty() => {
            (part("/spec/chartRef/kind"), name, part("/spec/chartRef/namespace"))
        }
        // The chart that helm-controller makes for the release.
        (HELM_RELEASE, _) => {
            let name = format!("{}-{}", cluster.namespace, object.name_any());
            (HELM_CHART.to_owned(), name, part("/spec/chart/spec/sourceRef/namespace"))
        }
        _ => (part("/spec/sourceRef/kind"), part("/spec/sourceRef/name"), part("/spec/sourceRef/namespace")),
    };
    let found = kind.sources.iter().find(|source| **source == of_kind).and_then(|source| Kind::find(source));
    let kind = found.ok_or(Error::SourceKind(of_kind))?;
    let cluster = if namespace.is_empty() { cluster.clone() } else { cluster.in_namespace(&namespace) };
    Ok(Source { cluster, kind, name })
}

async fn reconcile(
    cluster: &Cluster,
    kind: &'static Kind,
    name: &str,
    marks: &[&'static str],
) -> Result<(), Error> {
    let before = cluster.get(kind, name).await?;
    if (kind.static_message)(&before).is_some() {
        progress::success("reconciliation not supported by the object");
        return Ok(());
    }
    if is_suspended(&before) {
        return Err(Error::Suspended);
    }
    progress::action(&format!("annotating {} {name} in {} namespace", kind.name, cluster.namespace));
    let token = Timestamp::now().to_string();
    if !marks.is_empty() {
        // They count once the request has the same time.
        let marks: Map<_, _> = marks.iter().map(|mark| ((*mark).to_owned(), json!(token))).collect();
        cluster.patch(kind, name, json!({ "metadata": { "annotations": marks } })).await?;
    }
    cluster.request(kind, name, &token).await?;
    progress::success(&format!("{} annotated", kind.name));
    progress::waiting(&format!("waiting for {} reconciliation", kind.name));
    let handled = last_handled(&before);
    let done = cluster.wait(kind, name, |object, now| is_handled(object, handled, now)).await?;
    match ready(&done) {
        None => Err(Error::NoStatus),
        Some(("True", _)) => {
            progress::success(&(kind.success)(&done));
            Ok(())
        }
        Some((_, message)) => Err(Error::ReconcileFailed(failed(kind, message))),
    }
}

/// Flux quotes the message for kinds that it has no `--with-source` for.
fn failed(kind: &Kind, message: &str) -> String {
    let quote = if kind.sources.is_empty() { "'" } else { "" };
    format!("{} reconciliation failed: {quote}{message}{quote}", kind.name)
}
