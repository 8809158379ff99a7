//! `weir diff kustomization`: the changes that an apply of local files would make (CLI-DIF01, CLI-DIF02).
//!
//! ```text
//! local files ─► build ─► dry-run of each object ─► compare ─► report
//! ```

mod blocks;
mod compare;
mod lists;
mod neat;
mod report;
mod sops;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use kube::{Resource, ResourceExt};
use serde_json::Value;
use weir_ssa::{
    Action, Comparison, Entry, IgnoreRules, Manifest, Mapper, ObjectId, Owner, Session, Settings, stale,
};

use crate::command::build::kustomization::{Local, Specs, or_cancelled};
use crate::error::Error;
use crate::global::Global;
use crate::output::{plain, print};

/// Field manager of the dry-runs: that of the service, so that fields of others stay theirs.
const FIELD_MANAGER: &str = "kustomize-controller";

/// Dry-runs in flight at once.
const CONCURRENCY: usize = 8;

/// Kustomizations below each other; a ring of them ends here.
const MAX_DEPTH: usize = 50;

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
    /// Taken for compatibility: there is no progress bar.
    #[arg(
        long,
        hide = true,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true",
        action = clap::ArgAction::Set
    )]
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

/// A cluster to compare with, and where specs are looked for.
struct Comparer<'a> {
    local: &'a Local,
    specs: Specs<'a>,
    session: Session,
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
            print(&plain(&found.text))?;
            match found.errors.as_slice() {
                [] if found.is_changed => Err(Error::Changed),
                [] => Ok(()),
                [error] => Err(Error::diff(Error::Api(error.clone()))),
                errors => Err(Error::diff(Error::Api(format!("[{}]", errors.join(", "))))),
            }
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
        let client = cluster.client.clone();
        let namespace = cluster.namespace.clone();
        let session = Session::unwatched(client.clone(), Mapper::new(client).into());
        let comparer =
            Comparer { local: &self.local, specs: self.local.specs(Some(cluster.clone())), session };
        let root = match self.ignore_not_found {
            true => comparer.specs.of_new(name, &namespace).await?,
            false => comparer.specs.of(name, &namespace).await?,
        };
        cluster.in_time(comparer.kustomization(root, directory, 0)).await?
    }
}

impl Comparer<'_> {
    fn kustomization(
        &self,
        kustomization: weir_api::Kustomization,
        directory: PathBuf,
        depth: usize,
    ) -> BoxFuture<'_, Result<Found, Error>> {
        Box::pin(async move {
            let settings = settings(&kustomization);
            let objects = self.local.build(&self.specs, kustomization.clone(), directory).await?;
            let compared = objects.into_iter().map(|object| self.object(object, &settings));
            let compared: Vec<_> = stream::iter(compared).buffered(CONCURRENCY).collect().await;
            let mut found = Found::default();
            for (object, comparison) in compared {
                let comparison = match comparison {
                    Ok(comparison) => comparison,
                    Err(error) => {
                        found.add_error(error);
                        continue;
                    }
                };
                found.add(&comparison);
                let is_itself = settings.owner.name == comparison.id.name
                    && settings.owner.namespace == comparison.id.namespace;
                if comparison.action != Action::Created && !is_itself && depth < MAX_DEPTH {
                    self.add_nested(&mut found, &object, &comparison.id, depth).await?;
                }
            }
            if kustomization.spec.prune && found.errors.is_empty() {
                found.add_stale(&kustomization)?;
            }
            Ok(found)
        })
    }

    /// Compares an object with that of the cluster; a Secret's values are hidden.
    async fn object(&self, object: Value, settings: &Settings) -> (Value, Result<Comparison, String>) {
        let manifest = match Manifest::try_from(object.clone()) {
            Ok(manifest) => manifest,
            Err(error) => return (object, Err(error.to_string())),
        };
        let is_masked = sops::is_masked(&object);
        let compared = self.session.compare(manifest, settings).await.map_err(|error| error.to_string());
        let compared =
            compared.map(|comparison| if is_masked { sops::by_keys(comparison) } else { comparison });
        (object, compared)
    }

    /// Adds the differences of a Kustomization that came out of the build.
    async fn add_nested(
        &self,
        found: &mut Found,
        object: &Value,
        id: &ObjectId,
        depth: usize,
    ) -> Result<(), Error> {
        let is_remote = object.pointer("/spec/kubeConfig").is_some();
        let nested = match self.local.nested(&self.specs, object).await {
            Ok(Some(_)) if is_remote => {
                found.line(&format!("⚠️ {} skipped: diff not supported for remote clusters", id.subject()));
                return Ok(());
            }
            Ok(Some((kustomization, directory))) => {
                self.kustomization(kustomization, directory, depth + 1).await
            }
            Ok(None) => return Ok(()),
            Err(error) => Err(error),
        };
        match nested {
            Err(error @ Error::Deadline) => return Err(error),
            Err(error) => found.add_error(error.to_string()),
            Ok(nested) => {
                if nested.is_changed {
                    found.is_changed = true;
                    found.line(&format!("📁 {} changed", id.subject()));
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

    fn add(&mut self, comparison: &Comparison) {
        let subject = comparison.id.subject();
        match (comparison.action, &comparison.objects) {
            (Action::Skipped, _) => self.line(&format!("► {subject} skipped")),
            (Action::Created, _) => self.line(&format!("► {subject} created")),
            (Action::Configured, objects) => {
                self.line(&format!("► {subject} drifted"));
                if let Some((live, tried)) = objects {
                    self.text.push_str(&report::of(&compare::values(live, tried)));
                }
            }
            _ => {}
        }
        self.is_changed |= matches!(comparison.action, Action::Created | Action::Configured);
        self.inventory.push(Entry { id: comparison.id.clone(), version: String::new() });
    }

    /// Adds the objects that the apply would prune.
    fn add_stale(&mut self, kustomization: &weir_api::Kustomization) -> Result<(), Error> {
        let inventory = kustomization.status.as_ref().and_then(|status| status.inventory.as_ref());
        let mut old = Vec::new();
        for entry in inventory.into_iter().flat_map(|inventory| &inventory.entries) {
            let id =
                entry.id.parse().map_err(|error: weir_ssa::ParseIdError| Error::Api(error.to_string()))?;
            old.push(Entry { id, version: entry.version.clone() });
        }
        let mut gone = stale(&old, &self.inventory);
        gone.sort_by(|a, b| weir_ssa::by_apply_order(&a.id, &b.id));
        for entry in gone {
            self.is_changed = true;
            self.line(&format!("► {} deleted", entry.id.subject()));
        }
        Ok(())
    }
}

/// Time of an apply, which a comparison does not come to.
const LIMIT: Duration = Duration::from_secs(300);

fn settings(kustomization: &weir_api::Kustomization) -> Settings {
    let owner = Owner {
        group: weir_api::Kustomization::group(&()).into_owned(),
        name: kustomization.name_any(),
        namespace: kustomization.namespace().unwrap_or_default(),
    };
    Settings {
        field_manager: FIELD_MANAGER.to_owned(),
        owner,
        overridden_managers: Vec::new(),
        custom_stage: Vec::new(),
        concurrency: 1,
        force: false,
        ignored: IgnoreRules::default(),
        migrates_versions: false,
        time: LIMIT,
        judge: None,
    }
}
