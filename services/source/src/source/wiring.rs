//! The parts from which the controllers of all kinds are built.

use weir_access::Secrets;
use weir_api::FluxObject;
use weir_auth::Logins;
use weir_runtime::gate::WORKLOAD_IDENTITY;
use weir_runtime::{Cache, Queue, Service};

use super::reconciler::{SourceReconciler, StoringReconciler};
use crate::args::{Args, CONCURRENT};
use crate::storage::Storage;

/// The parts that the kinds share. Each kind's `start` takes from it what it needs.
pub(crate) struct Wiring<'a> {
    pub(crate) service: &'a Service,
    pub(crate) args: &'a Args,
    pub(crate) storage: Storage,
    pub(crate) secrets: Secrets,
    /// Logins to registries, Git servers and buckets; one set for all kinds.
    pub(crate) logins: Logins,
}

impl Wiring<'_> {
    /// Reconciles at once, of each kind.
    pub(crate) fn concurrent(&self) -> usize {
        self.args.runtime.concurrent(CONCURRENT)
    }

    /// Returns true when objects may act with an identity of their own.
    pub(crate) fn workload_identity(&self) -> bool {
        self.service.gates().enabled(WORKLOAD_IDENTITY)
    }

    /// Adds the loop of a kind.
    pub(crate) fn control<R: SourceReconciler>(&self, objects: Cache<R::Object>, kind: R) -> Queue {
        let name = R::Object::KIND.to_lowercase();
        let reconciler =
            StoringReconciler { storage: self.storage.clone(), logins: self.logins.clone(), kind };
        self.service.controller(&name, objects, reconciler, self.concurrent())
    }
}
