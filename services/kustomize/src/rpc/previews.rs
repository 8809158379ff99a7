//! Previews (builds and diffs that somebody asks for): a few at once, and their answers to readers that may be slow.

use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, stream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::task::TaskTracker;
use tonic::Status;

/// Previews at once, each with its manifests in memory. The runs go on beside them.
const AT_ONCE: usize = 2;
/// Time that a caller waits for others' previews to end.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time that a reader may take for all answers; it keeps others from theirs.
const READ_TIME: Duration = Duration::from_secs(120);
/// Answers that are made ahead of the reader.
const AHEAD: usize = 4;

/// Turns of those who preview. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Previews {
    turns: Arc<Semaphore>,
    tasks: TaskTracker,
}

/// The turn of one preview.
#[derive(Debug)]
pub(super) struct Turn(OwnedSemaphorePermit);

impl Previews {
    /// Answers are sent by `tasks`.
    pub(super) fn new(tasks: TaskTracker) -> Self {
        Self { turns: Arc::new(Semaphore::new(AT_ONCE)), tasks }
    }

    /// Waits for a turn.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` when the others take too long.
    pub(super) async fn turn(&self) -> Result<Turn, Status> {
        let turn = tokio::time::timeout(PATIENCE, Arc::clone(&self.turns).acquire_owned()).await;
        let busy = |_| Status::resource_exhausted("too many previews at once; ask again later");
        turn.map_err(busy)?.map(Turn).map_err(|_| Status::unavailable("the service stops"))
    }

    /// Streams the answers. The turn ends with the last of them, or when the reader has taken too long.
    pub(super) fn answer<T, I>(
        &self,
        turn: Turn,
        answers: I,
    ) -> impl Stream<Item = Result<T, Status>> + Send + use<T, I>
    where
        T: Send + 'static,
        I: Iterator<Item = Result<T, Status>> + Send + 'static,
    {
        let (sender, receiver) = mpsc::channel(AHEAD);
        self.tasks.spawn(async move {
            let sending = async {
                for answer in answers {
                    if sender.send(Some(answer)).await.is_err() {
                        return;
                    }
                }
                // Tells a reader that this was all; one that is gone misses nothing.
                let _ = sender.send(None).await;
            };
            let _ = tokio::time::timeout(READ_TIME, sending).await;
            drop(turn.0);
        });
        stream::unfold(Some(receiver), |receiver| async move {
            let mut receiver: mpsc::Receiver<Option<Result<T, Status>>> = receiver?;
            match receiver.recv().await {
                Some(Some(answer)) => Some((answer, Some(receiver))),
                Some(None) => None,
                None => Some((Err(Status::deadline_exceeded("the answers were read too slowly")), None)),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use futures::StreamExt;
    use tonic::Code;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_keeps_nobody_for_ever_and_learns_that_something_is_missing() {
        let previews = Previews::new(TaskTracker::new());
        let first = previews.turn().await.unwrap();
        let _second = previews.turn().await.unwrap();
        let busy = previews.turn().await.unwrap_err();
        assert_eq!(busy.code(), Code::ResourceExhausted);
        let slow = previews.answer(first, (0..100).map(Ok));
        let again = tokio::time::timeout(2 * READ_TIME, async {
            loop {
                if let Ok(turn) = previews.turn().await {
                    return turn;
                }
            }
        });
        again.await.expect("the slow reader has lost its turn");
        let last = slow.collect::<Vec<_>>().await.pop().unwrap();
        assert_eq!(last.unwrap_err().code(), Code::DeadlineExceeded);
    }

    #[tokio::test]
    async fn all_answers_arrive() {
        let previews = Previews::new(TaskTracker::new());
        let turn = previews.turn().await.unwrap();
        let answers: Vec<u32> = previews.answer(turn, (0..100).map(Ok)).map(Result::unwrap).collect().await;
        assert_eq!(answers, (0..100).collect::<Vec<_>>());
    }
}
