//! Alerts have no status; their only reconciler frees objects of earlier Flux versions of their finalizer (NTF-38).

use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use weir_api::{Alert, FINALIZER, Provider};
use weir_runtime::{EventDraft, Next, Outcome, Reconciler, Run};

use crate::FIELD_MANAGER;

/// Removes the finalizer of Alerts.
pub struct AlertReconciler {
    /// The service's own client.
    pub client: kube::Client,
}

impl Reconciler for AlertReconciler {
    type Object = Alert;
    const FINALIZER: bool = false;
    const RECORDS_REQUESTS: bool = false;

    async fn reconcile(&self, run: Run<Alert>) -> Outcome<Alert> {
        let outcome = Outcome::new(run.object.as_ref().clone(), Next::Stop);
        let Some(finalizers) = &run.object.metadata.finalizers else { return outcome };
        if !finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
            return outcome;
        }
        let kept: Vec<&String> = finalizers.iter().filter(|finalizer| *finalizer != FINALIZER).collect();
        let patch = json!({"metadata": {"finalizers": kept, "resourceVersion": run.object.metadata.resource_version}});
        let api: Api<Alert> = Api::namespaced(self.client.clone(), &run.key.namespace);
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        match api.patch(&run.key.name, &params, &Patch::Merge(patch)).await {
            Ok(_) => {
                let text = "removed finalizer from Alert to migrate to static Alert";
                outcome.event(EventDraft::info("Migration", text)).info(text)
            }
            Err(error) => Outcome::new(run.object.as_ref().clone(), Next::Backoff).error(error.to_string()),
        }
    }
}

/// Providers have no status either. Ones that Flux gave a finalizer can be deleted, since the runtime removes it (NTF-40).
pub struct ProviderReconciler;

impl Reconciler for ProviderReconciler {
    type Object = Provider;
    const FINALIZER: bool = false;
    const RECORDS_REQUESTS: bool = false;

    async fn reconcile(&self, run: Run<Provider>) -> Outcome<Provider> {
        Outcome::new(run.object.as_ref().clone(), Next::Stop)
    }
}
