//! Turns of callers whose requests cost much: a few at once beside the runs, each with a limit of its own.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tonic::Status;

/// Turns of one kind of request. Clones share them.
#[derive(Debug, Clone)]
pub struct Turns {
    free: Arc<Semaphore>,
    time: Duration,
}

impl Turns {
    /// So many requests at once, each of which may take that long, the time for its turn included.
    #[must_use]
    pub fn new(at_once: usize, time: Duration) -> Self {
        Self { free: Arc::new(Semaphore::new(at_once)), time }
    }

    /// Does the work of a request when it is its turn.
    ///
    /// # Errors
    /// `DEADLINE_EXCEEDED` when it takes too long, and what the work itself ends with.
    pub async fn take<T>(&self, work: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
        let working = async {
            let _turn = self.free.acquire().await.map_err(|_| Status::unavailable("the service stops"))?;
            work.await
        };
        let late = || {
            let seconds = self.time.as_secs();
            Status::deadline_exceeded(format!(
                "not done in {seconds} s, in which others had their turns; ask again later"
            ))
        };
        tokio::time::timeout(self.time, working).await.unwrap_or_else(|_| Err(late()))
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures::future::join_all;
    use tonic::Code;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn work_that_never_ends_keeps_others_for_its_time_only() {
        let turns = Turns::new(2, Duration::from_secs(60));
        let hanging = join_all((0..2).map(|_| turns.take(pending::<Result<(), Status>>())));
        let next = async {
            let kept = turns.take(ready(Ok("kept")));
            assert_eq!(kept.await.unwrap_err().code(), Code::DeadlineExceeded);
            turns.take(ready(Ok("done"))).await
        };
        let (hung, next) = tokio::join!(hanging, next);
        assert!(
            hung.iter().all(|hung| hung.as_ref().is_err_and(|error| error.code() == Code::DeadlineExceeded))
        );
        assert_eq!(next.unwrap(), "done");
    }
}
