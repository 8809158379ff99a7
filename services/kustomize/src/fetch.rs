//! The artifact's files: from Weir's source service as a stream, from any other over HTTP (KS-SRC-20..27). One try; the run
//! decides about the next.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::StatusCode;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use weir_api::Artifact;
use weir_artifact::fetch::{FetchError, Fetcher, Spool, SpoolError, VerifiedBlob};
use weir_artifact::{Digest, DigestError, Limits};
use weir_proto::source::v1::FetchRequest;
use weir_proto::source::v1::artifacts_client::ArtifactsClient;
use weir_runtime::grpc::PeerChannel;
use weir_runtime::metrics::{Route, RouteMetrics};

use crate::files::ArtifactFiles;
use crate::source::SourceId;

/// The first pause before a download is tried again, and the longest (KS-SRC-20). Flux begins with 5 s; a source service that was
/// just started advertises artifacts a second before its Service leads to it.
const RETRY_PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// Time without a message after which a stream is given up: other artifacts wait for their turn.
const STALL_TIMEOUT: Duration = Duration::from_secs(10);

/// Time from which a try for a stream is slow: a connection that is refused costs nothing, lost packets cost the time of a connection.
const SLOW_TRY: Duration = Duration::from_secs(1);

/// Time for which the stream is left alone once a slow try failed and HTTP did not: with a network policy that knows Flux's ports alone,
/// each download would wait for a connection first.
const STREAM_PAUSE: Duration = Duration::from_secs(30);

/// Time for one download, a bound for the clients only: each run has a limit of its own (KS-REC-40), and a stalled download ends
/// long before.
const LONGEST_DOWNLOAD: Duration = Duration::from_secs(24 * 3600);

/// Artifacts that are unpacked at once: more of them only wait for each other.
const UNPACKED_AT_ONCE: usize = 4;

/// Errors that leave an artifact without files.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The advertised artifact is not there (any more): a newer one is about to be advertised (KS-SRC-21).
    #[error("artifact not found")]
    NotFound,
    /// The source answered with something else.
    #[error("failed to download archive from {url} (status: {status})")]
    Status { url: String, status: StatusCode },
    /// The source did not answer.
    #[error("failed to download archive: {0}")]
    Transport(String),
    /// Weir's source service cannot be reached.
    #[error("failed to download archive: {0}")]
    Unreachable(String),
    /// The artifact has no digest that could be one, or cannot be compared with it (KS-SRC-22).
    #[error("failed to verify archive: {0}")]
    Verify(String),
    /// The artifact differs from its digest (KS-SRC-22). It may be a newer one under the same address, which is about to be advertised.
    #[error("failed to verify archive: {0}")]
    Mismatch(String),
    /// The artifact is no archive that may be unpacked (KS-SRC-24).
    #[error("failed to extract archive (check whether file size exceeds max download size): {0}")]
    Extract(String),
}

impl Error {
    /// Returns true when the same download may succeed in a moment.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Transport(_) | Self::Unreachable(_) => true,
            Self::Status { status, .. } => status.is_server_error() || status.as_u16() == 429,
            Self::NotFound | Self::Verify(_) | Self::Mismatch(_) | Self::Extract(_) => false,
        }
    }
}

/// `host:port` that stands in for the host of artifact URLs, for local development (KS-SRC-25).
#[derive(Debug, Default)]
pub(crate) struct LocalHosts {
    /// Of all sources but those of Flux's source-watcher.
    pub(crate) source: Option<String>,
    /// Of Flux's source-watcher.
    pub(crate) watcher: Option<String>,
}

type StreamClient = ArtifactsClient<PeerChannel>;

/// Weir's source service, which is asked first. Clones share the time of the next try.
#[derive(Clone)]
struct Stream {
    client: StreamClient,
    /// Time from which a try is slow.
    slow: Duration,
    /// Until when it is left alone.
    away: Arc<Mutex<Option<Instant>>>,
}

impl Stream {
    fn is_away(&self) -> bool {
        self.away.lock().is_some_and(|until| Instant::now() < until)
    }

    /// Leaves it alone for a while if it took so long to find that it cannot be had.
    fn lost_after(&self, taken: Duration) {
        if taken >= self.slow {
            *self.away.lock() = Some(Instant::now() + STREAM_PAUSE);
        }
    }
}

/// Gets artifacts. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Artifacts {
    http: Fetcher,
    /// For URLs of Flux's source-watcher, which has an override of its own (KS-SRC-25).
    watcher_http: Fetcher,
    stream: Option<Stream>,
    limits: Limits,
    /// Bytes of the largest file that a build may read.
    largest: u64,
    retries: u32,
    routes: RouteMetrics,
    unpacking: Arc<Semaphore>,
}

impl Artifacts {
    /// `stream` leads to Weir's source service, if there is one; HTTP stands in when it cannot be reached. Artifacts may be as
    /// large as sources make them and the disk has room for (KS-SRC-23, STO 14.6); of their files, those of up to `largest`
    /// bytes can be read.
    pub(crate) fn new(
        stream: Option<PeerChannel>,
        hosts: LocalHosts,
        retries: u32,
        largest: u64,
        routes: RouteMetrics,
    ) -> Result<Self, FetchError> {
        let limits = Limits { timeout: LONGEST_DOWNLOAD, ..Limits::on_disk(0) };
        let stream = stream.map(|channel| Stream {
            client: ArtifactsClient::new(channel),
            slow: SLOW_TRY,
            away: Arc::default(),
        });
        let http = Fetcher::new(limits, hosts.source)?;
        let watcher_http = Fetcher::new(limits, hosts.watcher)?;
        let unpacking = Arc::new(Semaphore::new(UNPACKED_AT_ONCE));
        Ok(Self { http, watcher_http, stream, limits, largest, retries, routes, unpacking })
    }

    /// The verified files of an artifact. Dropping the future ends the download.
    pub(crate) async fn files(&self, source: &SourceId, artifact: &Artifact) -> Result<ArtifactFiles, Error> {
        let (blob, route) = self.blob(source, artifact).await?;
        self.routes.took(route);
        let gone = |_| Error::Extract("the service stops".to_owned());
        let turn = Arc::clone(&self.unpacking).acquire_owned().await.map_err(gone)?;
        let (limits, largest) = (self.limits, self.largest);
        let unpacking = tokio::task::spawn_blocking(move || {
            // Kept here: a thread that nobody waits for any more still takes its turn.
            let _turn = turn;
            blob.stack(limits, largest).map(|(spans, stack)| ArtifactFiles::new(spans, stack))
        });
        let files = unpacking.await.map_err(|error| Error::Extract(error.to_string()))?;
        files.map_err(|error| Error::Extract(error.to_string()))
    }

    /// Returns the pause after so many failed downloads; nothing when they have been enough (KS-SRC-20).
    pub(crate) fn pause_after(&self, failures: u32) -> Option<Duration> {
        (failures <= self.retries).then(|| pause(failures))
    }

    async fn blob(&self, source: &SourceId, artifact: &Artifact) -> Result<(VerifiedBlob, Route), Error> {
        let digest = promised(&artifact.digest)?;
        let mut lost = None;
        if let Some(stream) = self.stream.as_ref().filter(|stream| !stream.is_away()) {
            let begun = Instant::now();
            let streaming = self.streamed(stream.client.clone(), source, artifact, &digest);
            match tokio::time::timeout(self.limits.timeout, streaming).await.unwrap_or_else(|_| stalled()) {
                // A source that does not know it may stand beside the one that made it: the URL leads to the right
                // one.
                Err(error @ (Error::Unreachable(_) | Error::Transport(_) | Error::NotFound)) => {
                    tracing::debug!(%error, "artifact is not streamed, falling back to HTTP");
                    // A stream that is refused or breaks off concerns its own artifact only.
                    lost = matches!(error, Error::Unreachable(_)).then(|| (stream, begun.elapsed()));
                }
                answer => return answer.map(|blob| (blob, Route::Grpc)),
            }
        }
        let http = if artifact.url.contains("//source-watcher") { &self.watcher_http } else { &self.http };
        let blob = http.blob(&artifact.url, &digest.to_string()).await.map_err(failure)?;
        // The next download begins with the stream again if neither way leads to the source.
        if let Some((stream, taken)) = lost {
            stream.lost_after(taken);
        }
        Ok((blob, Route::Http))
    }

    async fn streamed(
        &self,
        mut client: StreamClient,
        source: &SourceId,
        artifact: &Artifact,
        digest: &Digest,
    ) -> Result<VerifiedBlob, Error> {
        let request = FetchRequest {
            kind: source.kind.clone(),
            namespace: source.key.namespace.clone(),
            name: source.key.name.clone(),
            digest: artifact.digest.clone(),
        };
        let mut chunks = unless_stalled(client.fetch(request)).await?.into_inner();
        let mut spool = Spool::new(digest, self.limits.download);
        let mut next = unless_stalled(chunks.message()).await?;
        while let Some(message) = next {
            spool.push(&message.chunk).await.map_err(|error| verification(&error))?;
            next = unless_stalled(chunks.message()).await.map_err(broken_off)?;
        }
        spool.finish().await.map_err(|error| verification(&error))
    }
}

/// The digest that the status promises, one of SHA-256 where it names no algorithm (KS-SRC-22).
fn promised(text: &str) -> Result<Digest, Error> {
    if text.is_empty() {
        return Err(Error::Verify("empty digest".to_owned()));
    }
    let whole = if text.contains(':') { text.to_owned() } else { format!("sha256:{text}") };
    Digest::parse(&whole).map_err(|error| {
        let problem = match error {
            DigestError::Algorithm { .. } => "unsupported digest algorithm",
            DigestError::NoAlgorithm { .. } | DigestError::Hex { .. } => "invalid checksum digest format",
        };
        Error::Verify(format!("failed to parse digest '{whole}': {problem}"))
    })
}

/// The pause after so many failures: twice as long each time.
fn pause(failures: u32) -> Duration {
    let factor = 2_u32.checked_pow(failures.saturating_sub(1)).unwrap_or(u32::MAX);
    RETRY_PAUSE.0.saturating_mul(factor).min(RETRY_PAUSE.1)
}

async fn unless_stalled<T>(answer: impl Future<Output = Result<T, tonic::Status>>) -> Result<T, Error> {
    match tokio::time::timeout(STALL_TIMEOUT, answer).await {
        Ok(answer) => answer.map_err(|status| refusal(&status)),
        Err(_) => stalled(),
    }
}

fn stalled<T>() -> Result<T, Error> {
    Err(Error::Unreachable("the source service does not answer in time".to_owned()))
}

/// Returns the error of a stream that has begun: its service is there.
fn broken_off(error: Error) -> Error {
    match error {
        Error::Unreachable(message) => Error::Transport(message),
        other => other,
    }
}

fn refusal(status: &tonic::Status) -> Error {
    match status.code() {
        tonic::Code::NotFound => Error::NotFound,
        tonic::Code::Unavailable => Error::Unreachable(status.to_string()),
        // The HTTP server of the same service may still be there, and it needs no token.
        _ => Error::Transport(status.to_string()),
    }
}

fn verification(error: &SpoolError) -> Error {
    match error {
        SpoolError::Mismatch { .. } => Error::Mismatch(error.to_string()),
        SpoolError::TooLarge { .. } | SpoolError::Io { .. } => Error::Verify(error.to_string()),
    }
}

fn failure(error: FetchError) -> Error {
    match error {
        FetchError::NotFound { .. } => Error::NotFound,
        FetchError::Status { url, status } => Error::Status { url, status },
        FetchError::Digest(error) => Error::Verify(error.to_string()),
        FetchError::Spool(error) => verification(&error),
        FetchError::Untar(error) => Error::Extract(error.to_string()),
        FetchError::Transport(error) => Error::Transport(error.to_string()),
        FetchError::Url(_) | FetchError::Client { .. } | FetchError::Unpack { .. } => {
            Error::Transport(error.to_string())
        }
    }
}

#[cfg(test)]
mod tests;
