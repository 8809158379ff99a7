//! Reads what a selection depends on.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use tokio_util::sync::CancellationToken;
use weir_api::{ImagePolicy, ImageRepository};
use weir_runtime::{Cause, Run};

use super::{Selector, Settings, repository_key};

/// Everything that a run is decided by.
pub(super) struct Observed {
    pub(super) policy: Arc<ImagePolicy>,
    pub(super) repository: Option<Arc<ImageRepository>>,
    /// True when this service scans the repository, and has not visited it yet.
    pub(super) is_to_be_visited: bool,
    /// Labels of the policy's namespace, read only when they matter; or why they are not known.
    pub(super) namespace_labels: Result<BTreeMap<String, String>, String>,
    /// Tags of the repository, or why they are not known.
    pub(super) tags: Result<Vec<String>, String>,
    /// True when the run waited for tags already.
    pub(super) has_waited: bool,
    pub(super) settings: Settings,
    /// Ends the look at the tags.
    pub(super) cancel: CancellationToken,
}

impl Selector {
    pub(super) async fn observe(&self, run: &Run<ImagePolicy>) -> Observed {
        let policy = run.object.clone();
        let key = repository_key(&policy);
        let is_foreign = key.namespace != run.key.namespace;
        let repository = self.repositories.get(&key);
        let has_access_rules =
            repository.as_ref().is_some_and(|repository| repository.spec.access_from.is_some());
        let namespace_labels = if is_foreign && has_access_rules && !self.settings.no_cross_namespace_refs {
            self.namespace_labels(&run.key.namespace).await
        } else {
            Ok(Default::default())
        };
        let is_to_be_visited = self.scanned.get(&key).is_some() && !self.visited.has(&key);
        let tags = self.store.blocking(move |store| store.read(&key)).await;
        let tags = tags.map_err(|error| error.to_string());
        let has_waited = run.caused_by(Cause::Timer) || run.caused_by(Cause::Retry);
        Observed {
            policy,
            repository,
            is_to_be_visited,
            namespace_labels,
            tags,
            has_waited,
            settings: self.settings,
            cancel: run.cancel.clone(),
        }
    }

    async fn namespace_labels(&self, name: &str) -> Result<BTreeMap<String, String>, String> {
        let api: Api<Namespace> = Api::all(self.client.clone());
        let namespace = api.get(name).await.map_err(|error| error.to_string())?;
        Ok(namespace.metadata.labels.unwrap_or_default())
    }
}
