//! The changes of each Kustomization, in the order in which the service would apply them.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use weir_api::Kustomization;
use weir_kustomize_controller::{deletes, in_order};
use weir_ssa::{ObjectId, stale};

use super::forest::{Fate, Planned};
use crate::changes::{Change, Comparer, PruneLimit, inventory, owner, settings};
use crate::cluster::Cluster;
use crate::output::progress::Ticker;

/// The end of a Kustomization and its objects, if the revision came.
pub(super) struct Outcome {
    pub(super) id: ObjectId,
    pub(super) state: State,
    pub(super) changes: Vec<Change>,
    pub(super) errors: Vec<String>,
}

/// The end of a Kustomization itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It is new.
    Created,
    /// It is there, and stays.
    Kept,
    /// It goes.
    Deleted,
    /// It was not looked at, for this reason.
    Skipped(&'static str),
}

/// Compares the objects of Kustomizations with the cluster, those first that others depend on.
pub(super) async fn of(cluster: &Cluster, planned: Vec<Planned>, ticker: &Ticker) -> Vec<Outcome> {
    let (comparer, limit) = (Comparer::new(cluster.client.clone()), PruneLimit::of(cluster).await);
    for planned in &planned {
        if let Fate::Built(objects) = &planned.fate {
            comparer.note_coming(objects);
        }
    }
    let mut outcomes = Vec::with_capacity(planned.len());
    for planned in sorted(planned) {
        outcomes.push(outcome(&comparer, &limit, planned, ticker).await);
    }
    outcomes
}

fn sorted(planned: Vec<Planned>) -> Vec<Planned> {
    let all: Vec<_> = planned.iter().map(|planned| Arc::clone(&planned.kustomization)).collect();
    let places = in_order(&all).into_iter().enumerate().map(|(place, found)| (Arc::as_ptr(found), place));
    let places: HashMap<_, _> = places.collect();
    let mut planned = planned;
    planned.sort_by_key(|planned| places.get(&Arc::as_ptr(&planned.kustomization)).copied());
    planned
}

async fn outcome(comparer: &Comparer, limit: &PruneLimit, planned: Planned, ticker: &Ticker) -> Outcome {
    let Planned { kustomization, fate, is_live } = planned;
    let state = match &fate {
        Fate::Pruned => State::Deleted,
        Fate::Skipped(reason) => State::Skipped(reason),
        Fate::Built(_) | Fate::Failed(_) if is_live => State::Kept,
        Fate::Built(_) | Fate::Failed(_) => State::Created,
    };
    let (changes, errors) = match fate {
        Fate::Built(objects) => applied(comparer, limit, &kustomization, objects, ticker).await,
        Fate::Pruned if deletes(&kustomization) => removed(comparer, &kustomization, &[]).await,
        Fate::Pruned | Fate::Skipped(_) => (Vec::new(), Vec::new()),
        Fate::Failed(error) => (Vec::new(), vec![error]),
    };
    let owner = owner(&kustomization);
    let (kind, group) = ("Kustomization".to_owned(), owner.group);
    let id = ObjectId { namespace: owner.namespace, name: owner.name, group, kind };
    Outcome { id, state, changes, errors }
}

/// Changes, and errors of objects that cannot be compared.
type Found = (Vec<Change>, Vec<String>);

/// Compares what is built, and what it leaves to be pruned.
async fn applied(
    comparer: &Comparer,
    limit: &PruneLimit,
    kustomization: &Kustomization,
    objects: Vec<Value>,
    ticker: &Ticker,
) -> Found {
    let settings = match settings(kustomization) {
        Ok(settings) => settings,
        Err(error) => return (Vec::new(), vec![error]),
    };
    let (mut changes, mut errors) = (Vec::new(), Vec::new());
    for (_, compared) in comparer.objects(objects, &settings, ticker).await {
        match compared {
            Ok(change) => changes.push(change),
            Err(error) => errors.push(error),
        }
    }
    // Of what cannot be compared nobody knows its place in the inventory.
    if kustomization.spec.prune && errors.is_empty() {
        limit.warn(kustomization, &changes.iter().map(Change::entry).collect::<Vec<_>>());
        let (gone, failed) = removed(comparer, kustomization, &changes).await;
        changes.extend(gone);
        errors = failed;
    }
    (changes, errors)
}

/// Finds the objects of the last apply that would be deleted because they are not among those of the next one.
async fn removed(comparer: &Comparer, kustomization: &Kustomization, kept: &[Change]) -> Found {
    let old = match inventory(kustomization) {
        Ok(old) => old,
        Err(error) => return (Vec::new(), vec![error.to_string()]),
    };
    let kept: Vec<_> = kept.iter().map(Change::entry).collect();
    comparer.pruned(&owner(kustomization), &stale(&old, &kept)).await
}
