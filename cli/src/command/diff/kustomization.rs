//! `weir diff kustomization`: the changes that an apply of local files would make (CLI-DIF01, CLI-DIF02).
//!
//! ```text
//! local files ─► build ─► changes ─► report; the same for each Kustomization that comes out of the build
//! ```

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use futures::future::LocalBoxFuture;
use kube::ResourceExt;
use serde_json::Value;
use weir_runtime::args::Switch;
use weir_ssa::{Action, Entry, ObjectId, by_apply_order, stale};

use crate::changes::{Change, Comparer, MAX_DEPTH, PruneLimit, inventory, settings, verdict};
use crate::command::build::kustomization::{Local, MAX_KUSTOMIZATIONS, Specs, or_cancelled};
use crate::error::Error;
use crate::global::Global;
use crate::output::progress::Ticker;
use crate::output::{Paint, plain, print};

/// The Kustomization to compare.
#[derive(Args, Debug)]
#[command(after_help = "Exit codes: 0 nothing would change, 1 something would, 2 it could not be found out.

Examples:
  # The changes that local files would make
  weir diff kustomization apps --path clusters/prod/apps

  # With the spec of a local file
  weir diff kustomization apps --path clusters/prod/apps --kustomization-file clusters/prod/apps.yaml

  # With all Kustomizations that come out of it
  weir diff kustomization flux-system --path clusters/prod --recursive \\
    --local-sources GitRepository/flux-system/flux-system=.")]
pub(crate) struct Kustomization {
    #[command(flatten)]
    local: Local,
    /// Compare a Kustomization that is not in the cluster yet; needs --kustomization-file.
    #[arg(long)]
    ignore_not_found: bool,
    /// Show on a terminal how far the comparison is; --progress-bar=false does not.
    #[arg(long, default_value_t = true, switch())]
    progress_bar: bool,
}

/// Differences of a Kustomization as text, and true when there is any.
#[derive(Default)]
struct Found {
    text: String,
    is_changed: bool,
    errors: Vec<String>,
    inventory: Vec<Entry>,
}

/// A walk from a Kustomization down, over local files.
struct Walk<'a> {
    local: &'a Local,
    specs: Specs<'a>,
    comparer: Comparer,
    limit: PruneLimit,
    ticker: Ticker,
    paint: Paint,
    /// Namespaces and names of the Kustomizations that were compared. Each is compared once, however many others it comes out of.
    seen: RefCell<BTreeSet<(Option<String>, String)>>,
}

impl Kustomization {
    /// Compares and prints; Ctrl-C ends it.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        let name = self.local.name()?;
        or_cancelled(async {
            let found = self.compare(global, name).await.map_err(|error| match error {
                // Flux tells this one as it tells wrong flags.
                Error::KustomizationFile(_) => error,
                error => Error::diff(error),
            })?;
            print(&found.text)?;
            verdict(found.is_changed, &found.errors)
        })
        .await
    }

    async fn compare(&self, global: &Global, name: &str) -> Result<Found, Error> {
        let directory = self.local.directory()?;
        if self.ignore_not_found && !self.local.has_file() {
            let message = "kustomization file is required when assuming new kustomizations";
            return Err(Error::Flags(message.to_owned()));
        }
        let cluster = global.cluster().await?;
        let walk = Walk {
            local: &self.local,
            specs: self.local.specs(Some(cluster.clone())),
            comparer: Comparer::new(cluster.client.clone()),
            limit: PruneLimit::of(&cluster).await,
            ticker: Ticker::new(self.progress_bar),
            paint: Paint::of_stdout(),
            seen: RefCell::default(),
        };
        let root = match self.ignore_not_found {
            true => walk.specs.of_new(name, &cluster.namespace).await?,
            false => walk.specs.of(name, &cluster.namespace).await?,
        };
        cluster.in_time(walk.kustomization(root, directory, 0)).await?
    }
}

impl Walk<'_> {
    fn kustomization(
        &self,
        kustomization: weir_api::Kustomization,
        directory: PathBuf,
        depth: usize,
    ) -> LocalBoxFuture<'_, Result<Found, Error>> {
        Box::pin(async move {
            if !self.is_new(&kustomization)? {
                return Ok(Found::default());
            }
            let settings = settings(&kustomization).map_err(Error::Api)?;
            let objects = self.local.build(&self.specs, kustomization.clone(), directory).await?;
            self.comparer.note_coming(&objects);
            let mut found = Found::default();
            for (object, change) in self.comparer.objects(objects, &settings, &self.ticker).await {
                let change = match change {
                    Ok(change) => change,
                    Err(error) => {
                        found.add_error(error);
                        continue;
                    }
                };
                found.add(&change, self.paint);
                found.inventory.push(change.entry());
                let is_itself =
                    settings.owner.name == change.id.name && settings.owner.namespace == change.id.namespace;
                if change.action != Action::Created && !is_itself && depth < MAX_DEPTH {
                    self.add_nested(&mut found, &object, &change.id, depth).await?;
                }
            }
            if kustomization.spec.prune && found.errors.is_empty() {
                self.limit.warn(&kustomization, &found.inventory);
                found.add_stale(&kustomization, self.paint)?;
            }
            Ok(found)
        })
    }

    /// Notes a Kustomization that is going to be compared. Returns false when it was compared before.
    fn is_new(&self, kustomization: &weir_api::Kustomization) -> Result<bool, Error> {
        let mut seen = self.seen.borrow_mut();
        let is_new = seen.insert((kustomization.namespace(), kustomization.name_any()));
        match seen.len() > MAX_KUSTOMIZATIONS {
            true => Err(Error::Build(format!("more than {MAX_KUSTOMIZATIONS} Kustomizations"))),
            false => Ok(is_new),
        }
    }

    /// Adds the differences of a Kustomization that came out of the build.
    async fn add_nested(
        &self,
        found: &mut Found,
        object: &Value,
        id: &ObjectId,
        depth: usize,
    ) -> Result<(), Error> {
        let subject = plain(&id.subject());
        let nested = async {
            let Some(nested) = self.local.nested(object)? else { return Ok(None) };
            // Before its source is looked for, which need not be on this machine.
            if nested.spec.kube_config.is_some() {
                found.line(&format!("⚠️ {subject} skipped: diff not supported for remote clusters"));
                return Ok(None);
            }
            let (nested, directory) = self.local.place(&self.specs, nested).await?;
            self.kustomization(nested, directory, depth + 1).await.map(Some)
        };
        match nested.await {
            Err(error @ Error::Deadline) => return Err(error),
            Err(error) => found.add_error(error.to_string()),
            Ok(None) => {}
            Ok(Some(nested)) => {
                if nested.is_changed {
                    found.is_changed = true;
                    found.line(&format!("📁 {subject} changed"));
                    found.text.push_str(&nested.text);
                }
                nested.errors.into_iter().for_each(|error| found.add_error(error));
            }
        }
        Ok(())
    }
}

impl Found {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Adds an error once.
    fn add_error(&mut self, error: String) {
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    fn add(&mut self, change: &Change, paint: Paint) {
        self.text.push_str(&change.text(paint));
        self.is_changed |= change.is_one();
    }

    /// Adds the objects that the apply would prune.
    fn add_stale(&mut self, kustomization: &weir_api::Kustomization, paint: Paint) -> Result<(), Error> {
        let mut gone = stale(&inventory(kustomization)?, &self.inventory);
        gone.sort_by(|a, b| by_apply_order(&a.id, &b.id));
        gone.into_iter().for_each(|entry| self.add(&Change::new(entry.id, Action::Deleted), paint));
        Ok(())
    }
}
