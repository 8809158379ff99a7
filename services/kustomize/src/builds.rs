//! Builds off the reactor: as many at once as there are processors, and what they fetch (KS-BLD-33, KS-BLD-34).

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use weir_kustomize::{Answer, FetchError, FileSystem, GitUrl, Remote};
use weir_remote_bases::{Fetcher, RemoteBases};

/// Builds at once beyond the number of processors only wait for each other.
const MIN_BUILDS: usize = 2;

/// Where builds run. Clones share everything.
#[derive(Clone)]
pub(crate) struct Builds {
    turns: Arc<Semaphore>,
    /// Nothing when remote bases are refused.
    remote: Option<RemoteBases>,
}

/// Why a build did not come to an end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("kustomize build failed: the service stops")]
    Stopped,
    /// The task died beside the engine, which turns its own panics into errors (KS-BLD-36).
    #[error("kustomize build failed: recovered from kustomize build panic: {0}")]
    Panicked(tokio::task::JoinError),
}

impl Builds {
    pub(crate) fn new(remote: Option<RemoteBases>) -> Self {
        let processors = std::thread::available_parallelism().map_or(MIN_BUILDS, usize::from);
        Self { turns: Arc::new(Semaphore::new(processors.max(MIN_BUILDS))), remote }
    }

    /// Builds on a thread of its own, with what fetches remote bases for so long and not beyond a cancellation.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        time: Duration,
        cancel: CancellationToken,
        build: impl FnOnce(Option<Arc<dyn Remote>>) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let permit = Arc::clone(&self.turns).acquire_owned().await.map_err(|_| Error::Stopped)?;
        let turn = Turn {
            turns: Arc::clone(&self.turns),
            permit: Mutex::new(Some(permit)),
            runtime: Handle::current(),
        };
        let turn = Arc::new(turn);
        let remote = self.remote.as_ref().map(|bases| -> Arc<dyn Remote> {
            Arc::new(Patient { fetcher: bases.for_build(time, cancel), turn: Arc::clone(&turn) })
        });
        let building = tokio::task::spawn_blocking(move || {
            let built = build(remote);
            drop(turn);
            built
        });
        building.await.map_err(|error| {
            tracing::error!(%error, "build panicked");
            Error::Panicked(error)
        })
    }
}

/// The turn of one build.
#[derive(Debug)]
struct Turn {
    turns: Arc<Semaphore>,
    permit: Mutex<Option<OwnedSemaphorePermit>>,
    runtime: Handle,
}

impl Turn {
    /// Waits for something that needs no processor; others build meanwhile.
    fn lend<T>(&self, wait: impl FnOnce() -> T) -> T {
        drop(self.permit.lock().take());
        let done = wait();
        // Turns end only with the service; the build then ends without one.
        *self.permit.lock() = self.runtime.block_on(Arc::clone(&self.turns).acquire_owned()).ok();
        done
    }
}

/// Fetches, without keeping others from building.
#[derive(Debug)]
struct Patient {
    fetcher: Fetcher,
    turn: Arc<Turn>,
}

impl Remote for Patient {
    fn repository(&self, url: &GitUrl) -> Result<Box<dyn FileSystem>, FetchError> {
        self.turn.lend(|| self.fetcher.repository(url))
    }

    fn get(&self, url: &str, limit: u64) -> Result<Answer, FetchError> {
        self.turn.lend(|| self.fetcher.get(url, limit))
    }
}
