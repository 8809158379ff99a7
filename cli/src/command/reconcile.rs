//! `weir reconcile`: asks for a reconciliation now and waits until it is done (CLI-REC01 to CLI-REC03).

use clap::{ArgMatches, Args, Command};
use jiff::Timestamp;
use kube::api::DynamicObject;

use crate::cluster::Cluster;
use crate::error::Error;
use crate::global::Global;
use crate::kind::{Kind, Verbs, is_suspended, last_handled, ready, text};
use crate::output::progress;
use crate::readiness::is_handled;
use crate::verb::{Target, Verb};

/// The object to reconcile.
#[derive(Debug)]
pub(crate) struct Reconcile {
    target: Target,
    name: Option<String>,
    with_source: bool,
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
        }
        text
    }

    fn flags(target: Target, command: Command) -> Command {
        let command = Object::augment_args(command);
        match target {
            Target::Kind(kind) if !kind.sources.is_empty() => WithSource::augment_args(command),
            _ => command,
        }
    }

    fn read(target: Target, matches: &ArgMatches) -> Result<Self, clap::Error> {
        let name = matches.get_one::<String>("name").cloned();
        let with_source =
            matches.try_get_one::<bool>("with_source").ok().flatten().copied().unwrap_or_default();
        Ok(Self { target, name, with_source })
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
                reconcile_source(cluster, kind, &object).await?;
            }
            reconcile(cluster, kind, name).await?;
        }
        Ok(())
    }
}

async fn reconcile_source(cluster: &Cluster, kind: &Kind, object: &DynamicObject) -> Result<(), Error> {
    let part = |name| text(object, &format!("/spec/sourceRef/{name}"));
    let source =
        kind.sources.iter().find(|source| **source == part("kind")).and_then(|source| Kind::find(source));
    let source = source.ok_or_else(|| Error::SourceKind(part("kind")))?;
    let namespace = match part("namespace") {
        namespace if namespace.is_empty() => cluster.namespace.clone(),
        namespace => namespace,
    };
    reconcile(&cluster.in_namespace(&namespace), source, &part("name")).await
}

async fn reconcile(cluster: &Cluster, kind: &'static Kind, name: &str) -> Result<(), Error> {
    let before = cluster.get(kind, name).await?;
    if (kind.static_message)(&before).is_some() {
        progress::success("reconciliation not supported by the object");
        return Ok(());
    }
    if is_suspended(&before) {
        return Err(Error::Suspended);
    }
    progress::action(&format!("annotating {} {name} in {} namespace", kind.name, cluster.namespace));
    cluster.request(kind, name, &Timestamp::now().to_string()).await?;
    progress::success(&format!("{} annotated", kind.name));
    progress::waiting(&format!("waiting for {} reconciliation", kind.name));
    let token = last_handled(&before);
    let done = cluster.wait(kind, name, |object, now| is_handled(object, token, now)).await?;
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
