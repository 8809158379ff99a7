//! Tells the source of a new commit, which would look only at its interval otherwise.

use jiff::Timestamp;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use weir_api::{GitRepository, REQUESTED_AT_ANNOTATION};

use super::super::{Automation, decide::Work};

impl Automation {
    /// Asks for a reconcile of the source. The commit is made already: a refusal costs time, nothing else.
    pub(super) async fn wake_source(&self, work: &Work, now: Timestamp) {
        let patch = json!({ "metadata": { "annotations": { REQUESTED_AT_ANNOTATION: now.to_string() } } });
        let api: Api<GitRepository> = Api::namespaced(self.client.clone(), &work.source.namespace);
        let patched =
            api.patch_metadata(&work.source.name, &PatchParams::default(), &Patch::Merge(patch)).await;
        if let Err(error) = patched {
            tracing::warn!(%error, source = %work.source, "source is not told of the commit");
        }
    }
}
