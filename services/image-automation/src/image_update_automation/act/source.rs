//! Requests a reconcile of the source after a push. Without it, the source would see the commit at its next interval only.

use jiff::Timestamp;
use kube::Api;
use kube::api::PatchParams;
use weir_api::GitRepository;
use weir_runtime::client::reason;
use weir_runtime::request_reconcile;

use super::super::{Automation, decide::Work};

impl Automation {
    /// Requests a reconcile of the source. The commit is made already: a refusal costs time, nothing else.
    pub(super) async fn request_source(&self, work: &Work, now: Timestamp) {
        let api: Api<GitRepository> = Api::namespaced(self.client.clone(), &work.source.namespace);
        let (name, token) = (&work.source.name, now.to_string());
        if let Err(error) = request_reconcile(&api, name, &token, &PatchParams::default()).await {
            tracing::warn!(error = reason(error), source = %work.source, "source is not told of the commit");
        }
    }
}
