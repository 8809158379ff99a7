//! Looks at many objects that somebody asks for: a few at once, each with a limit of its own.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tonic::Status;

/// Looks at once; each may ask the API server for thousands of objects, beside the runs.
const AT_ONCE: usize = 8;
/// Time for one, others' before it included. A tree of a large cluster takes some seconds.
const TIME: Duration = Duration::from_secs(60);

/// Turns of those who look. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Looks(Arc<Semaphore>);

impl Default for Looks {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl Looks {
    /// Looks when it is the caller's turn.
    ///
    /// # Errors
    /// `DEADLINE_EXCEEDED` when it takes too long, and what the look itself ends with.
    pub(super) async fn look<T>(&self, look: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
        let looking = async {
            let _turn = self.0.acquire().await.map_err(|_| Status::unavailable("the service stops"))?;
            look.await
        };
        let late =
            || Status::deadline_exceeded(format!("not all objects were looked at in {} s", TIME.as_secs()));
        tokio::time::timeout(TIME, looking).await.unwrap_or_else(|_| Err(late()))
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use futures::future::join_all;
    use tonic::Code;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn looks_that_never_end_keep_others_for_a_minute_only() {
        let looks = Looks::default();
        let hanging = join_all((0..AT_ONCE).map(|_| looks.look(pending::<Result<(), Status>>())));
        let next = async {
            let kept = looks.look(async { Ok("kept") });
            assert_eq!(kept.await.unwrap_err().code(), Code::DeadlineExceeded);
            looks.look(async { Ok("looked") }).await
        };
        let (hung, next) = tokio::join!(hanging, next);
        assert!(
            hung.iter().all(|hung| hung.as_ref().is_err_and(|error| error.code() == Code::DeadlineExceeded))
        );
        assert_eq!(next.unwrap(), "looked");
    }
}
