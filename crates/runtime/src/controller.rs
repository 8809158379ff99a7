//! The reconcile loop, one for all kinds: takes objects from the queue, runs the reconciler, and reports once.

mod backoff;
mod patch;
mod progress;
mod report;
mod request;
mod run;

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use kube::Resource;
use kube::core::NamespaceResourceScope;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;
use weir_api::FluxObject;

use self::backoff::Backoff;
pub(crate) use self::backoff::RetryDelays;
use self::progress::Phases;
pub(crate) use self::report::ReportSettings;
use self::report::Reporter;
use self::request::is_requested_anew;
pub use self::request::request_reconcile;
pub(crate) use self::request::requested_at;
pub use self::run::{Finalized, Next, Outcome, Run};
use crate::cache::{Cache, Change, ObjectKey};
use crate::condition;
use crate::event::EventDraft;
use crate::log;
use crate::queue::{Cause, Queue, Ticket};

/// Time that runs in flight have to end once the service stops. With what follows it is less than the Pods' grace period, which
/// a test of the service adds up.
pub(crate) const STOP_DEADLINE: Duration = Duration::from_secs(20);

/// The reconciler of one kind. It reads as four calls: it observes, decides, acts, and returns the result to report;
/// it writes no status, sends no events and never sleeps.
pub trait Reconciler: Send + Sync + 'static {
    /// The kind.
    type Object: FluxObject + kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>;

    /// True when objects carry a finalizer, so that [`Reconciler::finalize`] runs before they go.
    const FINALIZER: bool = true;

    /// Name of the finalizer.
    const FINALIZER_NAME: &'static str = weir_api::FINALIZER;

    /// Field manager of status and finalizers, where it is not the name of the service (SRC-REC-11, GEN-11).
    const FIELD_MANAGER: Option<&'static str> = None;

    /// True when the status has `lastHandledReconcileAt`.
    const RECORDS_REQUESTS: bool = true;

    /// True when the kind has a status. One of an object that does not fit its API type says so.
    const HAS_STATUS: bool = true;

    /// Returns true when the object is only read by others (SRC-HRP-10). It is never reconciled and gets no finalizer and no
    /// status. One that still has them from before is finalized once, and they are taken off.
    fn is_static(object: &Self::Object) -> bool {
        let _ = object;
        false
    }

    /// Returns the status of a suspended object; by default a ready one shows that its newest generation was seen.
    fn suspended(&self, object: &Self::Object) -> impl Future<Output = Option<Self::Object>> + Send {
        let shown = seen(object);
        async { shown }
    }

    /// Returns the status of an object that has been undone and is kept by the finalizers of others; by default a ready
    /// one shows that its newest generation was seen.
    fn kept(object: &Self::Object) -> Option<Self::Object> {
        seen(object)
    }

    /// Returns true when a run of the object has begun something that is brought to its end although the object is suspended
    /// meanwhile; by default, none has.
    fn outlasts_suspension(&self, key: &ObjectKey) -> bool {
        let _ = key;
        false
    }

    /// Returns the event of each visit to a suspended object; by default none.
    fn suspended_event(object: &Self::Object) -> Option<EventDraft> {
        let _ = object;
        None
    }

    /// Brings the world in line with the object.
    fn reconcile(&self, run: Run<Self::Object>) -> impl Future<Output = Outcome<Self::Object>> + Send;

    /// Undoes what the object stood for; its finalizer goes when this is done.
    fn finalize(&self, run: Run<Self::Object>) -> impl Future<Output = Finalized<Self::Object>> + Send {
        let _ = run;
        async { Finalized::Done { events: Vec::new() } }
    }

    /// The object is gone: drops what is kept for it in memory.
    fn forget(&self, key: &ObjectKey) {
        let _ = key;
    }
}

/// Returns a ready object whose newest generation was seen.
fn seen<K: FluxObject>(object: &K) -> Option<K> {
    condition::is_ready(object.conditions()).then(|| {
        let mut object = object.clone();
        object.set_observed_generation(object.meta().generation.unwrap_or_default());
        object
    })
}

/// One kind's loop, ready to run.
pub(crate) struct Controller<R: Reconciler> {
    reconciler: R,
    cache: Cache<R::Object>,
    queue: Queue,
    reporter: Reporter<R::Object>,
    backoff: Backoff,
    concurrent: usize,
}

impl<R: Reconciler> Controller<R> {
    pub(crate) fn new(
        reconciler: R,
        cache: Cache<R::Object>,
        concurrent: usize,
        settings: ReportSettings,
    ) -> (Self, Queue) {
        let queue = Queue::default();
        settings.metrics.show(queue.clone());
        let backoff = Backoff::new(settings.retry_delays);
        let reporter = Reporter::new(settings, cache.clone());
        (Self { reconciler, cache, queue: queue.clone(), reporter, backoff, concurrent }, queue)
    }

    /// Runs until `stop`, then waits for runs in flight.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let (queue, concurrent) = (self.queue.clone(), self.concurrent);
        self.cache.on_change({
            let queue = queue.clone();
            move |change| {
                if let Some((key, cause)) = cause_of(change) {
                    queue.enqueue(key, cause);
                }
            }
        });
        self.cache.on_unreadable({
            let queue = queue.clone();
            move |key| queue.enqueue(key.clone(), Cause::Deleted)
        });
        let this = Arc::new(self);
        let free = Arc::new(Semaphore::new(concurrent));
        let mut runs = JoinSet::new();
        loop {
            let next = async {
                // The semaphore is never closed, so that the permit is always there.
                let permit = free.clone().acquire_owned().await;
                (permit, queue.next().await)
            };
            let Some((permit, ticket)) = stop.run_until_cancelled(next).await else { break };
            let this = this.clone();
            runs.spawn(async move {
                let span = log::run_span::<R::Object>(&ticket.key);
                this.run_one(ticket).instrument(span).await;
                drop(permit);
            });
            while runs.try_join_next().is_some() {}
        }
        queue.cancel_all();
        let _ =
            tokio::time::timeout(STOP_DEADLINE, async { while runs.join_next().await.is_some() {} }).await;
    }

    async fn run_one(&self, ticket: Ticket) {
        let (key, due) = (ticket.key.clone(), ticket.due);
        let metrics = self.reporter.metrics();
        let started = metrics.run_started(ticket.waited);
        let again = match self.cache.get(&key) {
            None => {
                self.reconciler.forget(&key);
                self.reporter.forget(&key);
                let again = self.reporter.report_unreadable::<R>(&key).await;
                if again.is_none() {
                    self.backoff.reset(&key);
                }
                again
            }
            Some(object) if object.meta().deletion_timestamp.is_some() => self.finalize(object, ticket).await,
            Some(object) => self.reconcile(object, ticket).await,
        };
        metrics.run_ended(started);
        let again = again.and_then(|next| self.backoff.schedule(&key, next, due));
        self.queue.done(&key, again);
    }

    async fn reconcile(&self, object: Arc<R::Object>, ticket: Ticket) -> Option<Next> {
        if R::is_static(&object) {
            return self.release(object, ticket).await;
        }
        let object = match self.reporter.ensure_finalizer::<R>(object).await {
            Ok(object) => object,
            Err(next) => return Some(next),
        };
        if object.is_suspended() && !self.reconciler.outlasts_suspension(&ticket.key) {
            return Some(self.pass_over(&object, &ticket.key).await);
        }
        let phases = Phases::default();
        let run = Run::new(object.clone(), ticket, phases.clone(), self.reporter.now());
        let (key, started) = (run.key.clone(), run.started);
        let cancelled = run.cancel.clone();
        // Boxed: a reconciler's future is large, and unboxed it would be copied into every frame around it.
        let work = AssertUnwindSafe(Box::pin(self.reconciler.reconcile(run))).catch_unwind();
        let write = |phase| self.reporter.progress(object.clone(), phase);
        let record = |phase| self.reporter.record(object.clone(), phase, &cancelled);
        let outcome = progress::follow(work, &phases, write, record).await;
        match outcome {
            Ok(outcome) if outcome.is_silent => {
                tracing::debug!(%key, cancelled = cancelled.is_cancelled(), next = ?outcome.next, "run without a result");
                self.reporter.tell(&outcome.object, outcome.events);
                Some(outcome.next)
            }
            Ok(outcome) => {
                Some(self.reporter.outcome::<R>(&object, outcome, started.elapsed(), &cancelled).await)
            }
            Err(panic) => Some(self.reporter.panicked(&key, &*panic, started.elapsed())),
        }
    }

    /// Visits a suspended object, which counts as a run without work.
    async fn pass_over(&self, object: &R::Object, key: &ObjectKey) -> Next {
        let started = Instant::now();
        let next = self.reporter.suspended(&self.reconciler, object).await;
        self.reporter.metrics().reconciled(R::Object::KIND, key, started.elapsed(), next);
        next
    }

    /// Takes finalizer and status from an object that has become static.
    async fn release(&self, object: Arc<R::Object>, ticket: Ticket) -> Option<Next> {
        self.backoff.reset(&ticket.key);
        if object.is_suspended() {
            return Some(Next::Stop);
        }
        match self.finalize(object.clone(), ticket).await {
            None | Some(Next::Stop) if report::has_status(&*object) => {
                Some(self.reporter.clear_status(&object).await)
            }
            next => next,
        }
    }

    /// Undoes what the object stands for, if it has the finalizer. An object that is being deleted and kept by the finalizers of others is
    /// undone also without ours (KS-REC-21): somebody may have taken ours off. It may never have had one, so that there may be nothing to
    /// undo (KS-TST-1).
    async fn finalize(&self, object: Arc<R::Object>, ticket: Ticket) -> Option<Next> {
        let is_kept = R::FINALIZER && !R::is_static(&object) && object.meta().deletion_timestamp.is_some();
        if !is_kept && !report::has_finalizer(&*object, R::FINALIZER_NAME) {
            return None;
        }
        let run = Run::new(object.clone(), ticket, Phases::default(), self.reporter.now());
        let (key, started) = (run.key.clone(), run.started);
        match AssertUnwindSafe(self.reconciler.finalize(run)).catch_unwind().await {
            Ok(finalized) => {
                let next = self.reporter.finalized::<R>(&object, finalized).await;
                self.reporter.metrics().reconciled(R::Object::KIND, &key, started.elapsed(), next);
                Some(next)
            }
            Err(panic) => Some(self.reporter.panicked(&key, &*panic, started.elapsed())),
        }
    }
}

/// Returns the cause of a run that a change of the object itself gives: new objects, new generations, new requests
/// and deletions count; changes of status, labels and other annotations do not (KS-REC-1).
fn cause_of<K: FluxObject>(change: &Change<K>) -> Option<(ObjectKey, Cause)> {
    let key = ObjectKey::of(&**change.latest()?);
    let Some(new) = &change.new else { return Some((key, Cause::Deleted)) };
    let is_going = |object: &K| object.meta().deletion_timestamp.is_some();
    let cause = match &change.old {
        Some(old) if is_going(old) && is_going(new) => return None,
        _ if is_going(new) => Cause::Deleted,
        None if new.observed_generation() > 0 => Cause::Startup,
        None => Cause::Spec,
        Some(old) if is_requested_anew(&**old, &**new) => Cause::Requested,
        Some(old) if old.meta().generation != new.meta().generation => Cause::Spec,
        Some(old) if old.meta().uid != new.meta().uid => Cause::Spec,
        // Where that is an annotation, it does not show in the generation.
        Some(old) if old.is_suspended() != new.is_suspended() => Cause::Spec,
        Some(_) => return None,
    };
    Some((key, cause))
}

#[cfg(test)]
mod tests;
