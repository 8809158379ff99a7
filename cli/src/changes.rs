//! The changes that an apply would make: `weir diff kustomization` and `weir plan` find and show them in this one way.
//!
//! ```text
//! built objects ─► dry-run of each object ─► compare ─► change ─► report
//! ```

mod blocks;
mod change;
mod compare;
mod lists;
mod neat;
mod prune_limit;
mod report;
mod sops;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, StreamExt};
use kube::{Resource, ResourceExt};
use serde_json::Value;
use weir_api::Kustomization;
use weir_kustomize_controller::ignore;
use weir_ssa::{Action, Entry, Manifest, Mapper, MappingError, Owner, Session, Settings};

pub(crate) use self::change::Change;
pub(crate) use self::prune_limit::PruneLimit;
use crate::error::Error;
use crate::output::manifest;
use crate::output::progress::Ticker;

/// Field manager of the dry-runs: that of the service, so that fields of others stay theirs.
const FIELD_MANAGER: &str = "kustomize-controller";

/// Dry-runs in flight at once.
const CONCURRENCY: usize = 8;

/// Kustomizations below each other; a ring of them ends here.
pub(crate) const MAX_DEPTH: usize = 50;

/// Time of an apply, which a comparison does not come to.
const LIMIT: Duration = Duration::from_secs(300);

/// Namespaces and kinds that the compared objects themselves make: what is in them is new, and no error.
#[derive(Debug, Default)]
struct Coming {
    namespaces: BTreeSet<String>,
    /// Group and kind.
    kinds: BTreeSet<(String, String)>,
}

impl Coming {
    /// Adds the namespace or the kind that an object makes, if it makes one.
    fn add(&mut self, object: &Value) {
        let text = |pointer| manifest::text(object, pointer).to_owned();
        match manifest::text(object, "/kind") {
            "Namespace" => drop(self.namespaces.insert(text("/metadata/name"))),
            "CustomResourceDefinition" => {
                self.kinds.insert((text("/spec/group"), text("/spec/names/kind")));
            }
            _ => {}
        }
    }
}

/// A cluster to compare with.
pub(crate) struct Comparer {
    session: Session,
    mapper: Arc<Mapper>,
    coming: RefCell<Coming>,
}

impl Comparer {
    /// A comparer with the objects that `client` sees.
    pub(crate) fn new(client: kube::Client) -> Self {
        let mapper = Arc::new(Mapper::new(client.clone()));
        let session = Session::unwatched(client, Arc::clone(&mapper));
        Self { session, mapper, coming: RefCell::default() }
    }

    /// Notes the namespaces and kinds that objects make. Those that are compared from now on may be in them.
    pub(crate) fn note_coming(&self, objects: &[Value]) {
        let mut coming = self.coming.borrow_mut();
        objects.iter().for_each(|object| coming.add(object));
    }

    /// Compares objects with those of the cluster, in their order. A Secret's values are hidden.
    pub(crate) async fn objects(
        &self,
        objects: Vec<Value>,
        settings: &Settings,
        ticker: &Ticker,
    ) -> Vec<(Value, Result<Change, String>)> {
        let (count, owner) = (objects.len(), &settings.owner);
        let compared = objects.into_iter().map(|object| async move {
            let change = self.object(&object, settings).await;
            (object, change)
        });
        let show = |done: usize| {
            let (namespace, name) = (&owner.namespace, &owner.name);
            ticker.show(&format!("comparing Kustomization/{namespace}/{name}: {done} of {count} objects"));
        };
        let counted = stream::iter(compared).buffered(CONCURRENCY).enumerate();
        counted.inspect(|(index, _)| show(index + 1)).map(|(_, compared)| compared).collect().await
    }

    async fn object(&self, object: &Value, settings: &Settings) -> Result<Change, String> {
        let manifest = Manifest::try_from(object.clone()).map_err(|error| error.to_string())?;
        let id = manifest.id().clone();
        let (is_of_coming_kind, is_in_coming_namespace) = {
            let coming = self.coming.borrow();
            let kind = (id.group.clone(), id.kind.clone());
            (coming.kinds.contains(&kind), coming.namespaces.contains(&id.namespace))
        };
        let is_of_new_kind = is_of_coming_kind
            && matches!(
                self.mapper.mapping(&manifest.api_version(), &id.kind).await,
                Err(MappingError::NoMatch { .. })
            );
        if is_of_new_kind {
            return Ok(Change::new(id, Action::Created));
        }
        match self.session.compare(manifest, settings).await {
            Ok(comparison) if sops::is_masked(object) => Ok(sops::by_keys(comparison).into()),
            Ok(comparison) => Ok(comparison.into()),
            Err(weir_ssa::Error::NotFound { .. }) if is_in_coming_namespace => {
                Ok(Change::new(id, Action::Created))
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// Finds out which of the objects that nobody wants any more a prune would delete, with the errors of those of which that
    /// cannot be told.
    pub(crate) async fn pruned(&self, owner: &Owner, entries: &[Entry]) -> (Vec<Change>, Vec<String>) {
        let pruned = self.session.preview_prune(owner, entries).await;
        let changes = pruned.changes.0.into_iter().map(|change| Change::new(change.id, change.action));
        (changes.collect(), pruned.errors.iter().map(ToString::to_string).collect())
    }
}

/// Returns how the service applies the objects of a Kustomization.
///
/// # Errors
/// `spec.ignore` cannot be understood.
pub(crate) fn settings(kustomization: &Kustomization) -> Result<Settings, String> {
    Ok(Settings {
        field_manager: FIELD_MANAGER.to_owned(),
        owner: owner(kustomization),
        overridden_managers: Vec::new(),
        custom_stage: Vec::new(),
        concurrency: 1,
        force: kustomization.spec.force,
        ignored: ignore::compile(&kustomization.spec.ignore)?,
        migrates_versions: false,
        leaves_ended: false,
        is_correction: false,
        time: LIMIT,
        judge: None,
    })
}

/// Returns a Kustomization as the owner of its objects.
pub(crate) fn owner(kustomization: &Kustomization) -> Owner {
    Owner {
        group: Kustomization::group(&()).into_owned(),
        name: kustomization.name_any(),
        namespace: kustomization.namespace().unwrap_or_default(),
    }
}

/// Returns the objects that a Kustomization has applied last, as its status names them.
pub(crate) fn inventory(kustomization: &Kustomization) -> Result<Vec<Entry>, Error> {
    let inventory = kustomization.status.as_ref().and_then(|status| status.inventory.as_ref());
    let entries = inventory.into_iter().flat_map(|inventory| &inventory.entries);
    let entry = |entry: &weir_api::kustomize::InventoryEntry| {
        let id = entry.id.parse().map_err(|error: weir_ssa::ParseIdError| Error::Api(error.to_string()))?;
        Ok(Entry { id, version: entry.version.clone() })
    };
    entries.map(entry).collect()
}

/// Returns the end of a command that compares: changes and errors have exit codes of their own (CLI-G11).
pub(crate) fn verdict(is_changed: bool, errors: &[String]) -> Result<(), Error> {
    match errors {
        [] if is_changed => Err(Error::Changed),
        [] => Ok(()),
        [error] => Err(Error::diff(Error::Api(error.clone()))),
        errors => Err(Error::diff(Error::Api(format!("[{}]", errors.join(", "))))),
    }
}
