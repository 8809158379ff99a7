//! Work that goes on when the request that began it is gone: senders hang up after some seconds, and hyper drops what still runs.

use std::future::Future;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Tasks of the service that it waits for at a stop. Cheap to clone.
#[derive(Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Tasks {
    /// Starts work in the background.
    pub fn start(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn(self.stop.clone().run_until_cancelled_owned(work));
    }

    /// Waits for work that ends also if nobody waits any more; none when the service stops before it ends.
    pub async fn finish<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let task = self.tracker.spawn(self.stop.clone().run_until_cancelled_owned(work));
        task.await.ok().flatten()
    }

    /// Waits for all work, and after the grace period ends what is left; returns how much that was.
    pub async fn drain(&self, grace: Duration) -> usize {
        self.tracker.close();
        if tokio::time::timeout(grace, self.tracker.wait()).await.is_ok() {
            return 0;
        }
        let left = self.tracker.len();
        self.stop.cancel();
        self.tracker.wait().await;
        left
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::FutureExt;
    use tokio::sync::Notify;

    use super::*;

    #[tokio::test]
    async fn work_ends_though_its_request_is_dropped() {
        let (tasks, go, done) = (Tasks::default(), Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (went, ended) = (go.clone(), done.clone());
        let mut request = Box::pin(tasks.finish(async move {
            went.notified().await;
            ended.notify_one();
        }));
        assert!(request.as_mut().now_or_never().is_none(), "the work is not done yet");
        drop(request);
        go.notify_one();
        tokio::time::timeout(Duration::from_secs(60), done.notified()).await.unwrap();
        assert_eq!(tasks.drain(Duration::ZERO).await, 0);
        assert_eq!(tasks.finish(async { 7 }).await, Some(7));
    }

    #[tokio::test]
    async fn a_stop_ends_what_is_left_after_the_grace_period() {
        let tasks = Tasks::default();
        tasks.start(std::future::pending());
        let waiting = tasks.finish(std::future::pending::<u8>());
        let stop = async {
            tokio::task::yield_now().await;
            tasks.drain(Duration::from_millis(1)).await
        };
        assert_eq!(tokio::join!(waiting, stop), (None, 2));
    }
}
