//! `HelmRepository` (SRC 7). Those of the type `oci` are static: charts refer to them, nothing is fetched for them.

mod act;
mod connect;
mod decide;
mod seen;

use weir_api::HelmRepository;
use weir_helm::Limits;
use weir_runtime::{Cache, ObjectKey};

pub(crate) use self::act::converted;
pub(crate) use self::connect::Connector;
use self::decide::Plan;
pub(crate) use self::decide::is_oci;
use self::seen::Indexes;
use crate::source::{Attempt, Failure, Source, SourceReconciler, Success, Wiring};
use crate::storage::Storage;

/// Keeps the indexes of `HelmRepository` objects equal to what their servers have.
struct HelmRepositoryReconciler {
    connector: Connector,
    storage: Storage,
    limits: Limits,
    seen: Indexes,
}

/// Adds the loop of HelmRepositories.
pub(crate) fn start(wiring: &Wiring<'_>, objects: Cache<HelmRepository>, connector: Connector) {
    let (storage, limits, seen) = (wiring.storage.clone(), wiring.args.helm_limits(), Indexes::default());
    wiring.control(objects, HelmRepositoryReconciler { connector, storage, limits, seen });
}

impl SourceReconciler for HelmRepositoryReconciler {
    type Object = HelmRepository;

    fn is_static(object: &HelmRepository) -> bool {
        is_oci(object)
    }

    /// As in Flux, nothing is left but the generation that was seen.
    fn kept(object: &HelmRepository) -> HelmRepository {
        let mut object = object.clone();
        let parts = object.status_mut();
        parts.conditions.clear();
        *parts.artifact = None;
        if let Some(url) = parts.url {
            *url = None;
        }
        object
    }

    async fn bring_up_to_date(&self, attempt: &mut Attempt<'_, HelmRepository>) -> Result<Success, Failure> {
        let repository = self.connector.open(attempt.key(), &attempt.object).await?;
        let limit = self.limits.index;
        let fetched = match self.seen.current(attempt) {
            None => repository.index(limit).await,
            Some((mark, known)) => match repository.index_unless(&mark, limit).await.transpose() {
                None => return Ok(decide::kept(known, &attempt.object.spec.url)),
                Some(fetched) => fetched,
            },
        };
        let mut fetched = fetched.map_err(|error| decide::fetch_failure(&error))?;
        let mark = fetched.mark.take();
        let [stored, new] = decide::algorithms(attempt.known.as_ref(), self.storage.store().algorithm());
        let hashed = move || Ok((fetched.digest(stored)?, fetched.digest(new)?, fetched));
        let hashed = self.storage.blocking(hashed).await.flatten();
        let unread = |error: std::io::Error| Failure::disk(format!("failed to calculate revision: {error}"));
        let (compared, new, fetched) = hashed.map_err(unread)?;
        let success = match decide::decide(attempt.known.as_ref(), &compared, new) {
            Plan::Keep(known) => decide::kept(known, &attempt.object.spec.url),
            Plan::Store { revision } => self.act(attempt, fetched, revision).await?,
        };
        self.seen.note(attempt, mark, &success.artifact.revision);
        Ok(success)
    }

    fn forget(&self, key: &ObjectKey) {
        self.seen.forget(key);
    }
}
