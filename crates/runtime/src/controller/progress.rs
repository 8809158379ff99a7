//! The phase of a run, and its write to the status when the run lasts.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

/// A run shorter than this writes no progress: people hardly see it, and each write costs the API server as much as the
/// result does (docs/adr/0013). Under load runs are longer just because the API server is busy; writing more would not
/// help.
const QUIET: Duration = Duration::from_secs(2);

/// Message of a run in progress.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Phase<K> {
    /// Message of the Ready condition, where that is Unknown meanwhile.
    pub ready: String,
    /// Message of the Reconciling condition.
    pub reconciling: String,
    /// True when the run has something new to do, so that Ready becomes Unknown whatever it is.
    pub is_new: bool,
    /// The object with a status in which something is no longer claimed, or recorded: written at once.
    pub retracted: Option<Arc<K>>,
}

impl<K> Phase<K> {
    pub(super) fn of(ready: impl Into<String>, reconciling: impl Into<String>) -> Self {
        Self { ready: ready.into(), reconciling: reconciling.into(), is_new: true, retracted: None }
    }

    /// The phase of a run that does not know yet of anything new.
    pub(super) fn looking(message: &str) -> Self {
        Self { is_new: false, ..Self::of(message, message) }
    }

    /// A copy, whether or not the object can be cloned.
    fn copy(&self) -> Self {
        let retracted = self.retracted.clone();
        Self { is_new: self.is_new, retracted, ..Self::of(&self.ready, &self.reconciling) }
    }

    fn says(&self, other: &Self) -> bool {
        (&self.ready, &self.reconciling, self.is_new) == (&other.ready, &other.reconciling, other.is_new)
    }
}

/// The newest phase of a run and its start, shared by the reconciler that sets it and the controller that may write it.
#[derive(Debug)]
pub(super) struct Phases<K>(Arc<Shared<K>>);

#[derive(Debug)]
struct Shared<K> {
    newest: Mutex<Option<(Phase<K>, Instant)>>,
    record: Mutex<Option<Record<K>>>,
    urgent: Notify,
}

/// Receives the object as it was written; none when the write failed.
type Written<K> = oneshot::Sender<Option<Arc<K>>>;

/// A status that a run wants to be written before it goes on.
#[derive(Debug)]
struct Record<K> {
    object: Arc<K>,
    written: Written<K>,
}

impl<K> Clone for Phases<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> Default for Phases<K> {
    fn default() -> Self {
        Self(Arc::new(Shared { newest: Mutex::new(None), record: Mutex::new(None), urgent: Notify::new() }))
    }
}

impl<K> Phases<K> {
    pub(super) fn set(&self, mut phase: Phase<K>) {
        let mut newest = self.0.newest.lock();
        if phase.retracted.is_some() {
            self.0.urgent.notify_one();
        } else if let Some((before, _)) = newest.take() {
            // Once a phase was new or retracted something, all later phases of the run are new or retract it, too.
            phase.retracted = before.retracted;
            phase.is_new |= before.is_new;
        }
        *newest = Some((phase, Instant::now()));
    }

    /// Has the status of an object written; gives the object as it is then, if that went well.
    pub(super) async fn record(&self, object: Arc<K>) -> Option<Arc<K>> {
        let (tell, told) = oneshot::channel();
        *self.0.record.lock() = Some(Record { object, written: tell });
        self.0.urgent.notify_one();
        told.await.ok().flatten()
    }

    /// The state to record, in the words of the newest phase.
    fn recording(&self) -> Option<(Phase<K>, Written<K>)> {
        let Record { object, written } = self.0.record.lock().take()?;
        let newest = self.0.newest.lock().as_ref().map(|(phase, _)| phase.copy());
        let phase = newest.unwrap_or_else(|| Phase::of("", ""));
        Some((Phase { retracted: Some(object), ..phase }, written))
    }

    /// The phase if it is to be written: it has lasted for the quiet time or retracts something for the first time.
    fn due(&self, written: Option<&Phase<K>>) -> Result<Phase<K>, Instant> {
        let retracted = written.is_some_and(|written| written.retracted.is_some());
        match &*self.0.newest.lock() {
            Some((phase, since)) if since.elapsed() >= QUIET || (phase.retracted.is_some() && !retracted) => {
                Ok(phase.copy())
            }
            Some((_, since)) => Err(*since + QUIET),
            None => Err(Instant::now() + QUIET),
        }
    }
}

/// Drives `work` to its end; a phase that lasts longer than the quiet time is written beside it, once, and one that
/// retracts something at once. The record is written while `work` waits. A write in flight is finished before this
/// returns, so that it cannot overwrite the result.
pub(super) async fn follow<K, T, W: Future<Output = ()>, R: Future<Output = Option<Arc<K>>>>(
    work: impl Future<Output = T>,
    phases: &Phases<K>,
    write: impl Fn(Phase<K>) -> W,
    record: impl Fn(Phase<K>) -> R,
) -> T {
    let mut work = pin!(work);
    let mut written: Option<Phase<K>> = None;
    let mut look = Instant::now() + QUIET;
    loop {
        tokio::select! {
            biased;
            result = &mut work => return result,
            () = phases.0.urgent.notified() => {}
            () = tokio::time::sleep_until(look) => {}
        }
        if let Some((phase, tell)) = phases.recording() {
            // A run that no longer waits for it has ended, and so has this.
            let _ = tell.send(record(phase.copy()).await);
            written = Some(phase);
            look = Instant::now() + QUIET;
            continue;
        }
        let phase = match phases.due(written.as_ref()) {
            Ok(phase) => phase,
            Err(later) => {
                look = later;
                continue;
            }
        };
        look = Instant::now() + QUIET;
        if written.as_ref().is_some_and(|written| written.says(&phase)) {
            continue;
        }
        written = Some(phase.copy());
        let mut writing = pin!(write(phase));
        let early = tokio::select! {
            biased;
            result = &mut work => Some(result),
            () = &mut writing => None,
        };
        if let Some(result) = early {
            writing.await;
            return result;
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests' clock is paused")]
mod tests {
    use super::*;

    fn phase(text: &str) -> Phase<()> {
        Phase::of(text, text)
    }

    async fn written(work: impl Future<Output = ()>, phases: &Phases<()>) -> Vec<Phase<()>> {
        let log = Arc::new(Mutex::new(Vec::new()));
        let write = |phase| {
            let log = log.clone();
            async move { log.lock().push(phase) }
        };
        let record = |phase: Phase<()>| {
            let log = log.clone();
            async move {
                let is_known = phase.reconciling != "nobody listens";
                log.lock().push(phase);
                is_known.then(|| Arc::new(()))
            }
        };
        follow(work, phases, write, record).await;
        let log = log.lock();
        log.iter().map(Phase::copy).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_short_run_writes_nothing() {
        let phases = Phases::default();
        phases.set(phase("building"));
        let work = tokio::time::sleep(Duration::from_millis(1_900));
        assert_eq!(written(work, &phases).await, []);
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_phase_is_written_once() {
        let phases = Phases::default();
        phases.set(phase("building"));
        let work = tokio::time::sleep(Duration::from_secs(9));
        assert_eq!(written(work, &phases).await, [phase("building")]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_run_of_short_phases_writes_nothing() {
        let phases = Phases::default();
        let work = async {
            for number in 0..10 {
                phases.set(phase(&number.to_string()));
                tokio::time::sleep(Duration::from_millis(1_500)).await;
            }
        };
        assert_eq!(written(work, &phases).await, []);
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_without_a_phase_writes_nothing() {
        let work = tokio::time::sleep(Duration::from_secs(3));
        assert_eq!(written(work, &Phases::default()).await, []);
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_run_knows_of_it_knows_until_its_end() {
        let phases = Phases::default();
        let work = async {
            for phase in [Phase::looking("looking"), phase("building"), Phase::looking("looking on")] {
                phases.set(phase);
                tokio::time::sleep(Duration::from_secs(3)).await;
            }
        };
        let expected = [Phase::looking("looking"), phase("building"), phase("looking on")];
        assert_eq!(written(work, &phases).await, expected);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_retracted_is_written_at_once_and_stays_so() {
        let phases = Phases::default();
        let retracted = |text| Phase { retracted: Some(Arc::new(())), ..phase(text) };
        let work = async {
            phases.set(retracted("lost"));
            tokio::time::sleep(Duration::from_millis(1)).await;
            phases.set(phase("building"));
            tokio::time::sleep(Duration::from_secs(3)).await;
        };
        assert_eq!(written(work, &phases).await, [retracted("lost"), retracted("building")]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_recorded_is_written_before_the_run_goes_on() {
        let phases = Phases::default();
        let work = async {
            phases.set(phase("applying"));
            assert!(phases.record(Arc::new(())).await.is_some());
            tokio::time::sleep(Duration::from_secs(3)).await;
            phases.set(phase("nobody listens"));
            assert!(phases.record(Arc::new(())).await.is_none());
        };
        let recorded = |text| Phase { retracted: Some(Arc::new(())), ..phase(text) };
        assert_eq!(written(work, &phases).await, [recorded("applying"), recorded("nobody listens")]);
    }
}
