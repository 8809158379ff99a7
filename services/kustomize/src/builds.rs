//! Builds off the reactor: as many at once as there are processors, within one budget of memory, and what they fetch
//! (KS-BLD-33, KS-BLD-34).

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use weir_kustomize::{Answer, FetchError, FileSystem, GitUrl, Remote, Stop};
use weir_remote_bases::{Fetcher, RemoteBases};

use crate::budget::{Budget, Share};
use crate::decryption::Lend;
use crate::files::{ArtifactFiles, Metered};

/// Builds at once beyond the number of processors only wait for each other.
const MIN_BUILDS: usize = 2;

/// Bytes of files that a build begins with. Nearly all builds read less; one that wants more takes that when it gets there.
const USUAL_BYTES: u64 = 1 << 20;

/// Times that a build reads its files: to find out whether they have changed, to make a kustomization file, and to use them.
const USUAL_READS: u64 = 4;

/// Factor for the memory of a build that is done again, by what it lacked: nobody knows how far it would have come with that.
const MORE: u64 = 2;

/// Turns, memory and remote bases of all builds. Clones share everything.
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
        "kustomize build failed: it reads more than {limit} bytes of files, which is what --max-build-bytes allows: split the \
         Kustomization, or raise the flag with the memory of the service, about ten times as much"
    )]
    TooLarge { limit: u64 },
}

/// All that a build has of its service.
pub(crate) struct Means {
    pub(crate) files: Metered,
    /// Fetcher of remote bases; nothing when they are refused.
    pub(crate) remote: Option<Arc<dyn Remote>>,
    pub(crate) turn: Arc<dyn Lend>,
    /// Requested when nobody waits for the build any more.
    pub(crate) stop: Stop,
}

/// The outcome of a build, and the memory that it takes until it is dropped.
pub(crate) struct Budgeted<T> {
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

    /// Builds on a thread of its own. Remote bases are fetched for `time` at most, and not beyond a cancellation; a build
    /// that waits for something else lends its turn. Its share of memory grows with what it reads; a build for which there
    /// is none left is done again when there is, in the order of arrival. Dropping the future stops the build.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        files: ArtifactFiles,
        time: Duration,
        cancel: CancellationToken,
        build: impl Fn(Means) -> T + Send + Sync + 'static,
    ) -> Result<Budgeted<T>, Error> {
        let (files, build) = (Arc::new(files), Arc::new(build));
        let giving_up = GiveUp::default();
        let usual = files.size().saturating_mul(USUAL_READS).min(USUAL_BYTES);
        let mut bytes = usual;
        loop {
            let share = self.budget.take(bytes).await.ok_or(Error::Stopped)?;
            let stop = giving_up.0.clone();
            let files = Metered::sharing(Arc::clone(&files), share.clone(), stop.clone());
            let (once, meter) = (Arc::clone(&build), files.clone());
            let once = move |remote, turn| once(Means { files, remote, turn, stop });
            let built = self.once(share, time, cancel.clone(), once).await?;
            match meter.lacking() {
                None => {
                    built.share.shrink_to(meter.used());
                    return Ok(built);
                }
                Some(lacking) if lacking > self.budget.bytes() => {
                    return Err(Error::TooLarge { limit: self.budget.bytes() });
                }
                Some(lacking) => bytes = lacking.saturating_mul(MORE),
            }
        }
    }

    async fn once<T: Send + 'static>(
        &self,
        share: Share,
        time: Duration,
        cancel: CancellationToken,
        build: impl FnOnce(Option<Arc<dyn Remote>>, Arc<dyn Lend>) -> T + Send + 'static,
    ) -> Result<Budgeted<T>, Error> {
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
        // Turn and share stay with the thread until it ends, which it soon does when nobody waits for it any more.
        let building = tokio::task::spawn_blocking(move || {
            let made = build(remote, Arc::clone(&turn) as Arc<dyn Lend>);
            drop(turn);
            Budgeted { made, share }
        });
        building.await.map_err(|error| {
            tracing::error!(%error, "build panicked");
            Error::Panicked(error)
        })
    }
}

/// Stops a build when it is dropped.
#[derive(Default)]
struct GiveUp(Stop);

impl Drop for GiveUp {
    fn drop(&mut self) {
        self.0.request();
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

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use tokio::sync::oneshot;
    use weir_kustomize::FsPath;

    use super::*;
    use crate::files::tests::{files, unpacked};

    const LIMIT: Duration = Duration::from_secs(300);

    /// Works until it is told to stop; false if nobody does, however busy the machine is.
    fn stops(stop: &Stop) -> bool {
        let since = Instant::now();
        while !stop.is_requested() && since.elapsed() < Duration::from_secs(60) {
            std::thread::yield_now();
        }
        stop.is_requested()
    }

    /// KS-REC-40
    #[tokio::test(start_paused = true)]
    async fn a_build_that_is_given_up_stops_and_gives_back_what_it_had() {
        let builds = Builds::new(None, 1 << 20);
        let turns = u32::try_from(builds.turns.available_permits()).unwrap();
        let (tell, begun) = oneshot::channel();
        let (tell, has_stopped) = (Mutex::new(Some(tell)), Arc::new(Mutex::new(None)));
        let result = Arc::clone(&has_stopped);
        let endless = move |Means { stop, .. }: Means| {
            if let Some(tell) = tell.lock().take() {
                tell.send(()).unwrap();
            }
            *result.lock() = Some(stops(&stop));
        };
        let building = builds.run(files(&["a.yaml"]), LIMIT, CancellationToken::new(), endless);
        let passing = async {
            begun.await.unwrap();
            // The clock stands while a thread works.
            tokio::time::advance(LIMIT).await;
        };
        let (built, ()) = tokio::join!(tokio::time::timeout(LIMIT, building), passing);
        assert!(built.is_err(), "it does not end by itself");
        drop(builds.turns.acquire_many(turns).await.unwrap());
        assert_eq!(builds.budget.take(u64::MAX).await.unwrap().bytes(), builds.budget.bytes());
        assert_eq!(*has_stopped.lock(), Some(true));
    }

    /// A file of one thousand bytes, `a`.
    fn thousand() -> ArtifactFiles {
        unpacked(&[("a", vec![b'a'; 1000])], 1000)
    }

    /// Reads it so many times; false if it may not.
    fn reads(files: &Metered, times: usize) -> bool {
        let name = FsPath::new("a").unwrap();
        (0..times).all(|_| files.read(&name, 1000).is_ok())
    }

    /// KS-BLD-34: one that reads much and then waits for a server is no reason for others to wait.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_large_build_that_waits_leaves_others_what_it_has_not_read() {
        let builds = Builds::new(None, 64 << 10);
        let (tell, mut begun) = tokio::sync::mpsc::channel(2);
        let (go_on, wait) = std::sync::mpsc::sync_channel(2);
        let wait = Mutex::new(wait);
        let build = move |Means { files, turn, .. }: Means| {
            assert!(reads(&files, 20));
            tell.blocking_send(()).unwrap();
            turn.lend(&mut || wait.lock().recv().unwrap());
        };
        let building = builds.run(thousand(), LIMIT, CancellationToken::new(), build);
        let other = async {
            begun.recv().await.unwrap();
            let share = tokio::time::timeout(LIMIT, builds.budget.take(40 << 10)).await;
            go_on.send(()).unwrap();
            share.unwrap().unwrap().bytes()
        };
        let (built, other) = tokio::join!(building, other);
        assert_eq!((built.unwrap().share.bytes(), other), (20 << 10, 40 << 10));
        assert!(begun.recv().await.is_none(), "one pass is enough");
    }

    #[tokio::test]
    async fn a_build_that_finds_no_memory_left_is_done_again_when_there_is() {
        let builds = Builds::new(None, 16 << 10);
        let (tell, mut passes) = tokio::sync::mpsc::channel(9);
        let build = move |Means { files, .. }: Means| tell.blocking_send(reads(&files, 8)).unwrap();
        let other = builds.budget.take(10 << 10).await.unwrap();
        let building = builds.run(thousand(), LIMIT, CancellationToken::new(), build);
        let giving_back = async {
            let first = passes.recv().await;
            drop(other);
            [first, passes.recv().await, passes.recv().await]
        };
        let (built, passes) = tokio::join!(building, giving_back);
        assert_eq!(passes, [Some(false), Some(true), None]);
        let built = built.unwrap();
        assert_eq!(built.share.bytes(), 8 << 10);
        drop(built);
        let endless = |Means { files, .. }: Means| reads(&files, 100);
        let failed = builds.run(thousand(), LIMIT, CancellationToken::new(), endless).await;
        assert!(matches!(failed, Err(Error::TooLarge { limit: 16384 })));
    }
}
