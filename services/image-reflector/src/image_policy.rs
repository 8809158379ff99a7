//! The ImagePolicy kind: selects the latest tag.

mod act;
mod decide;
mod observe;
mod report;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinError;
use weir_api::{ImagePolicy, ImageRepository};
use weir_oci::Registries;
use weir_runtime::condition::Writer;
use weir_runtime::{Cache, Failure, ObjectKey, Outcome, Reconciler, Run};

use self::decide::{Plan, decide};
use self::observe::Observed;
use crate::{access::Accesses, tag_store::TagStore, visited::Visited};

/// The reconciler.
pub(crate) struct Selector {
    pub(crate) client: kube::Client,
    pub(crate) accesses: Arc<Accesses>,
    pub(crate) registries: Registries,
    pub(crate) store: TagStore,
    pub(crate) repositories: Cache<ImageRepository>,
    /// Those of them that this service scans, and not another shard.
    pub(crate) scanned: Cache<ImageRepository>,
    pub(crate) visited: Visited,
    pub(crate) settings: Settings,
}

/// Settings of runs, from the service's flags.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    /// `--no-cross-namespace-refs`.
    pub(crate) no_cross_namespace_refs: bool,
    /// Gate `ObjectLevelWorkloadIdentity`.
    pub(crate) workload_identity: bool,
    /// `--requeue-dependency`.
    pub(crate) requeue_dependency: Duration,
}

/// The ImageRepository that a policy selects from.
pub(crate) fn repository_key(policy: &ImagePolicy) -> ObjectKey {
    let reference = &policy.spec.image_repository_ref;
    let own = policy.metadata.namespace.as_deref().unwrap_or_default();
    let given = reference.namespace.as_deref().filter(|namespace| !namespace.is_empty());
    ObjectKey::new(given.unwrap_or(own), &reference.name)
}

impl Reconciler for Selector {
    type Object = ImagePolicy;

    async fn reconcile(&self, run: Run<ImagePolicy>) -> Outcome<ImagePolicy> {
        let writer = Writer::of(&*run.object, run.now);
        run.looking(&writer.progress());
        let observed = self.observe(&run).await;
        let (observed, plan) = match run.cancel.run_until_cancelled(decided(observed)).await {
            // A decision that ends as it is cancelled may have seen some of the tags only.
            Some(Ok(_)) if run.cancel.is_cancelled() => {
                return Outcome::superseded(ImagePolicy::clone(&run.object));
            }
            Some(Ok(decided)) => decided,
            Some(Err(lost)) => {
                let failure = Failure::retried(weir_api::reason::FAILED, format!("selection failed: {lost}"));
                return report::report(&run.object, &writer, Plan::Fail(failure), None);
            }
            None => return Outcome::superseded(ImagePolicy::clone(&run.object)),
        };
        let latest = match &plan {
            Plan::Select(choice) => {
                let asking = run.cancel.run_until_cancelled(self.act(&observed, choice));
                let Some(latest) = asking.await else {
                    return Outcome::superseded(ImagePolicy::clone(&run.object));
                };
                Some(latest)
            }
            Plan::Wait(_) | Plan::Fail(_) => None,
        };
        report::report(&run.object, &writer, plan, latest)
    }
}

/// Decides off the reactor: a repository may have a million tags, which are gone afterwards.
async fn decided(mut observed: Observed) -> Result<(Observed, Plan), JoinError> {
    let deciding = tokio::task::spawn_blocking(move || {
        let plan = decide(&observed);
        observed.tags = Ok(Vec::new());
        (observed, plan)
    });
    deciding.await
}
