//! Builds off the reactor: as many at once as there are processors, within one budget of memory, and what they fetch
//! (KS-BLD-33, KS-BLD-34).

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use weir_kustomize::{Answer, FetchError, FileSystem, GitUrl, Remote};
use weir_remote_bases::{Fetcher, RemoteBases};

use crate::budget::{Budget, Share};
use crate::decryption::Lend;
use crate::files::{ArtifactFiles, Metered};

/// Builds at once beyond the number of processors only wait for each other.
const MIN_BUILDS: usize = 2;

/// Bytes of files that a build may read beside others. Nearly all builds read less; one that wants more is done again when
/// the whole budget is free.
const USUAL_BYTES: u64 = 8 << 20;

/// Times that a build reads its files: to find out whether they have changed, to make a kustomization file, and to use them.
const USUAL_READS: u64 = 4;

/// Where builds run. Clones share everything.
#[derive(Clone)]
pub(crate) struct Builds {
    turns: Arc<Semaphore>,
    budget: Budget,
    /// Nothing when remote bases are refused.
    remote: Option<RemoteBases>,
}

/// Errors that end a build early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("kustomize build failed: the service stops")]
    Stopped,
    /// The task died beside the engine, which turns its own panics into errors (KS-BLD-36).
    #[error("kustomize build failed: recovered from kustomize build panic: {0}")]
    Panicked(tokio::task::JoinError),
    /// The files are more than any build may read.
    #[error(
        "kustomize build failed: it reads more than {limit} bytes of files, which is what --max-build-bytes allows"
    )]
    TooLarge { limit: u64 },
}

/// The outcome of a build, and the memory that it takes until it is dropped.
pub(crate) struct Held<T> {
    pub(crate) made: T,
    pub(crate) share: Share,
}

impl Builds {
    /// `bytes` is the budget: of files that are being built from, and of what is made of them.
    pub(crate) fn new(remote: Option<RemoteBases>, bytes: u64) -> Self {
        let processors = std::thread::available_parallelism().map_or(MIN_BUILDS, usize::from);
        let turns = Arc::new(Semaphore::new(processors.max(MIN_BUILDS)));
        Self { turns, budget: Budget::new(bytes), remote }
    }

    /// Builds on a thread of its own, with what fetches remote bases for so long and not beyond a cancellation, and with the
    /// turn that it lends while it waits for something else. A build that reads more than is usual is done again, alone.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        files: ArtifactFiles,
        time: Duration,
        cancel: CancellationToken,
        build: impl Fn(Metered, Option<Arc<dyn Remote>>, Arc<dyn Lend>) -> T + Send + Sync + 'static,
    ) -> Result<Held<T>, Error> {
        let (files, build) = (Arc::new(files), Arc::new(build));
        let usual = files.size().saturating_mul(USUAL_READS).min(USUAL_BYTES);
        for bytes in [usual, self.budget.bytes()] {
            let share = self.budget.take(bytes).await.ok_or(Error::Stopped)?;
            let metered = Metered::new(Arc::clone(&files), share.bytes());
            let (once, meter) = (Arc::clone(&build), metered.clone());
            let mut held = self
                .once(share, time, cancel.clone(), move |remote, turn| once(metered, remote, turn))
                .await?;
            if !meter.is_exceeded() {
                held.share.shrink_to(meter.used());
                return Ok(held);
            }
        }
        Err(Error::TooLarge { limit: self.budget.bytes() })
    }

    async fn once<T: Send + 'static>(
        &self,
        share: Share,
        time: Duration,
        cancel: CancellationToken,
        build: impl FnOnce(Option<Arc<dyn Remote>>, Arc<dyn Lend>) -> T + Send + 'static,
    ) -> Result<Held<T>, Error> {
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
        // Turn and share stay with the thread, also when nobody waits for it any more.
        let building = tokio::task::spawn_blocking(move || {
            let made = build(remote, Arc::clone(&turn) as Arc<dyn Lend>);
            drop(turn);
            Held { made, share }
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

impl Lend for Turn {
    fn lend(&self, wait: &mut dyn FnMut()) {
        Self::lend(self, wait);
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
