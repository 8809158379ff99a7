//! The ImageRepository kind: scans a registry.

mod act;
mod decide;
mod observe;
mod report;

use std::sync::{Arc, OnceLock};

use weir_api::{ImagePolicy, ImageRepository};
use weir_oci::Registries;
use weir_runtime::condition::Writer;
use weir_runtime::metrics::ObjectGauge;
use weir_runtime::{Cause, Finalized, Index, ObjectKey, Outcome, Queue, Reconciler, Run};

use self::act::ScanError;
use self::decide::{Plan, decide};
use crate::{access::Accesses, tag_store::TagStore, visited::Visited};

/// The reconciler.
pub(crate) struct Scanner {
    pub(crate) accesses: Arc<Accesses>,
    pub(crate) registries: Registries,
    pub(crate) store: TagStore,
    pub(crate) visited: Visited,
    /// Tags of each repository, for people who watch over them (image.md §9.3).
    pub(crate) tags: ObjectGauge,
    /// Policies by the repository that they select from.
    pub(crate) policies: Index<ImagePolicy, ObjectKey>,
    /// The loop of policies, once there is one.
    pub(crate) policy_queue: Arc<OnceLock<Queue>>,
    /// True when objects may name ServiceAccounts for clouds.
    pub(crate) workload_identity: bool,
}

impl Reconciler for Scanner {
    type Object = ImageRepository;

    async fn reconcile(&self, run: Run<ImageRepository>) -> Outcome<ImageRepository> {
        let writer = Writer::of(&*run.object, run.now);
        let observed = self.observe(&run).await;
        let plan = decide(&observed);
        let result = match &plan {
            Plan::Scan(scan) => {
                let progress = scan.why.progress();
                if scan.is_of_empty_store() {
                    run.phase(progress.clone(), progress);
                } else {
                    run.looking(&progress);
                }
                Some(self.act(&run.key, scan, &run.cancel).await)
            }
            Plan::Keep { .. } | Plan::Hindered { .. } | Plan::Fail(_) => None,
        };
        if matches!(result, Some(Err(ScanError::Superseded))) {
            return Outcome::superseded(ImageRepository::clone(&run.object));
        }
        if let Some(Ok(found)) = &result {
            self.tags.set(&run.key, found.count);
        }
        self.visited.add(&run.key);
        if let (Plan::Scan(scan), Some(Ok(_))) = (&plan, &result)
            && scan.fills_store
        {
            self.release_policies(&run.key);
        }
        report::report(&run.object, &writer, plan, result, run.now)
    }

    fn forget(&self, key: &ObjectKey) {
        self.tags.forget(key);
    }

    async fn finalize(&self, run: Run<ImageRepository>) -> Finalized<ImageRepository> {
        self.accesses.forget(&run.key);
        self.visited.remove(&run.key);
        let key = run.key.clone();
        match self.store.blocking(move |store| store.remove(&key)).await {
            Ok(()) => Finalized::Done { events: Vec::new() },
            Err(error) => {
                tracing::warn!(key = %run.key, %error, "tags not removed yet");
                Finalized::Retry { object: None, events: Vec::new() }
            }
        }
    }
}

impl Scanner {
    /// Lost tags may be back with the same revision, which no watch reports: policies are woken directly.
    fn release_policies(&self, repository: &ObjectKey) {
        let Some(queue) = self.policy_queue.get() else { return };
        queue.wake(self.policies.naming(repository), Cause::Dependency);
    }
}
