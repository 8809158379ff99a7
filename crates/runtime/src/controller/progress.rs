//! The phase of a run, and its write to the status when the run lasts.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// A run shorter than this writes no progress: people do not see it, and each write costs the API server as much as the
/// result does (DESIGN §5).
const QUIET: Duration = Duration::from_millis(500);

/// What a run is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Phase {
    /// Message of the Ready condition, Unknown meanwhile.
    pub ready: String,
    /// Message of the Reconciling condition.
    pub reconciling: String,
}

/// The newest phase of a run and its start, shared by the reconciler that sets it and the controller that may write it.
#[derive(Debug, Clone, Default)]
pub(super) struct Phases(Arc<Mutex<Option<(Phase, Instant)>>>);

impl Phases {
    pub(super) fn set(&self, phase: Phase) {
        *self.0.lock() = Some((phase, Instant::now()));
    }

    /// The phase if it has lasted for the quiet time, else when to look again.
    fn lasting(&self) -> Result<Phase, Instant> {
        match &*self.0.lock() {
            Some((phase, since)) if since.elapsed() >= QUIET => Ok(phase.clone()),
            Some((_, since)) => Err(*since + QUIET),
            None => Err(Instant::now() + QUIET),
        }
    }
}

/// Drives `work` to its end; a phase that lasts longer than the quiet time is written beside it, once. A write in flight is finished before this returns, so that it cannot overwrite the result.
pub(super) async fn follow<T, W: Future<Output = ()>>(
    work: impl Future<Output = T>,
    phases: &Phases,
    write: impl Fn(Phase) -> W,
) -> T {
    let mut work = pin!(work);
    let mut written = None;
    let mut look = Instant::now() + QUIET;
    loop {
        tokio::select! {
            biased;
            result = &mut work => return result,
            () = tokio::time::sleep_until(look) => {}
        }
        let phase = match phases.lasting() {
            Ok(phase) => phase,
            Err(later) => {
                look = later;
                continue;
            }
        };
        look = Instant::now() + QUIET;
        if written.as_ref() == Some(&phase) {
            continue;
        }
        written = Some(phase.clone());
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
mod tests {
    use super::*;

    fn phase(text: &str) -> Phase {
        Phase { ready: text.into(), reconciling: text.into() }
    }

    async fn written(work: impl Future<Output = ()>, phases: &Phases) -> Vec<Phase> {
        let log = Arc::new(Mutex::new(Vec::new()));
        follow(work, phases, |phase| {
            let log = log.clone();
            async move { log.lock().push(phase) }
        })
        .await;
        let log = log.lock();
        log.clone()
    }

    #[tokio::test(start_paused = true)]
    async fn a_short_run_writes_nothing() {
        let phases = Phases::default();
        phases.set(phase("building"));
        let work = tokio::time::sleep(Duration::from_millis(400));
        assert_eq!(written(work, &phases).await, []);
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_phase_is_written_once() {
        let phases = Phases::default();
        phases.set(phase("building"));
        let work = tokio::time::sleep(Duration::from_secs(3));
        assert_eq!(written(work, &phases).await, [phase("building")]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_run_of_short_phases_writes_nothing() {
        let phases = Phases::default();
        let work = async {
            for number in 0..10 {
                phases.set(phase(&number.to_string()));
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
        };
        assert_eq!(written(work, &phases).await, []);
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_without_a_phase_writes_nothing() {
        let work = tokio::time::sleep(Duration::from_secs(3));
        assert_eq!(written(work, &Phases::default()).await, []);
    }
}
