//! Alerts have no status; their only reconciler frees objects of earlier Flux versions of their finalizer (NTF-38).

use weir_api::{Alert, Provider};
use weir_runtime::{EventDraft, Finalized, Next, Outcome, Reconciler, Run};

/// Lets Alerts be: the runtime takes the finalizer off those that have one.
pub struct AlertReconciler;

impl Reconciler for AlertReconciler {
    type Object = Alert;
    const FINALIZER: bool = false;
    const RECORDS_REQUESTS: bool = false;
    const HAS_STATUS: bool = false;

    fn is_static(_: &Alert) -> bool {
        true
    }

    async fn reconcile(&self, run: Run<Alert>) -> Outcome<Alert> {
        Outcome::new(run.object.as_ref().clone(), Next::Stop)
    }

    async fn finalize(&self, _: Run<Alert>) -> Finalized<Alert> {
        let text = "removed finalizer from Alert to migrate to static Alert";
        Finalized::Done { events: vec![EventDraft::info("Migration", text)] }
    }
}

/// Providers have no status either. Ones that Flux gave a finalizer can be deleted, since the runtime removes it (NTF-40).
pub struct ProviderReconciler;

impl Reconciler for ProviderReconciler {
    type Object = Provider;
    const FINALIZER: bool = false;
    const RECORDS_REQUESTS: bool = false;
    const HAS_STATUS: bool = false;

    async fn reconcile(&self, run: Run<Provider>) -> Outcome<Provider> {
        Outcome::new(run.object.as_ref().clone(), Next::Stop)
    }
}
