//! Keeps a Receiver's status: its path and whether it is ready (NTF-87 … NTF-91).

use weir_access::Secrets;
use weir_api::{FluxObject, Receiver};
use weir_runtime::{EventDraft, Finalized, Outcome, Reconciler, Run, condition};

use super::decide::decide;
use super::observe::observe;
use super::report::{finished, report};

/// Reconciles Receivers.
pub struct ReceiverReconciler {
    /// Reads the Secrets with the tokens.
    pub secrets: Secrets,
}

impl Reconciler for ReceiverReconciler {
    type Object = Receiver;

    /// As in Flux, the end of each visit to a ready Receiver is an event, though the visit to a suspended one does nothing.
    fn suspended_event(receiver: &Receiver) -> Option<EventDraft> {
        condition::is_ready(receiver.conditions()).then(|| finished(receiver))
    }

    async fn reconcile(&self, run: Run<Receiver>) -> Outcome<Receiver> {
        let observed = observe(&self.secrets, &run.object).await;
        let verdict = decide(&run.object, observed);
        report(&run.object, verdict, run.now)
    }

    async fn finalize(&self, run: Run<Receiver>) -> Finalized<Receiver> {
        Finalized::Done { events: Self::suspended_event(&run.object).into_iter().collect() }
    }
}
