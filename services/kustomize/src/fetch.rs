//! The artifact's files: from Weir's source service as a stream, from any other over HTTP (KS-SRC-20..27).

use std::time::Duration;

use tokio::time::sleep;
use weir_api::Artifact;
use weir_artifact::fetch::{FetchError, Fetcher, Spool, SpoolError};
use weir_artifact::{Digest, FileMap, Limits};
use weir_proto::source::v1::FetchRequest;
use weir_proto::source::v1::artifacts_client::ArtifactsClient;
use weir_runtime::grpc::PeerChannel;
use weir_runtime::metrics::{Route, RouteMetrics};

use crate::source::SourceId;

/// The first pause before a download is tried again, and the longest (KS-SRC-20).
const RETRY_PAUSE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(30));

/// Why there are no files.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The advertised artifact is not there (any more): a newer one is about to be advertised (KS-SRC-21).
    #[error("artifact not found")]
    NotFound,
    /// The source answered with something else.
    #[error("failed to download archive from {url} (status: {status})")]
    Status { url: String, status: String },
    /// The source did not answer.
    #[error("failed to download archive: {0}")]
    Transport(String),
    /// The artifact is not what its digest says, or has none (KS-SRC-22).
    #[error("failed to verify archive: {0}")]
    Verify(String),
    /// The artifact is no archive that may be unpacked (KS-SRC-24).
    #[error("failed to extract archive (check whether file size exceeds max download size): {0}")]
    Extract(String),
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

/// Gets artifacts. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Artifacts {
    http: Fetcher,
    /// For URLs of Flux's source-watcher, which has an override of its own (KS-SRC-25).
    watcher_http: Fetcher,
    stream: Option<StreamClient>,
    limits: Limits,
    retries: u32,
    routes: RouteMetrics,
}

impl Artifacts {
    /// `stream` leads to Weir's source service, if there is one; HTTP stands in when it cannot be reached.
    pub(crate) fn new(
        stream: Option<PeerChannel>,
        hosts: LocalHosts,
        retries: u32,
        routes: RouteMetrics,
    ) -> Result<Self, FetchError> {
        let limits = Limits::default();
        let stream = stream.map(ArtifactsClient::new);
        let http = Fetcher::new(limits, hosts.source)?;
        let watcher_http = Fetcher::new(limits, hosts.watcher)?;
        Ok(Self { http, watcher_http, stream, limits, retries, routes })
    }

    /// The verified files of an artifact.
    pub(crate) async fn files(&self, source: &SourceId, artifact: &Artifact) -> Result<FileMap, Error> {
        if artifact.digest.is_empty() {
            return Err(Error::Verify("empty digest".to_owned()));
        }
        if let Some(client) = &self.stream {
            match self.streamed(client.clone(), source, artifact).await {
                // A source that does not know it may stand beside the one that made it: the URL tells which.
                Err(error @ (Error::Transport(_) | Error::NotFound)) => {
                    tracing::debug!(%error, "artifact is not streamed, falling back to HTTP");
                }
                answer => return answer.inspect(|_| self.routes.took(Route::Grpc)),
            }
        }
        self.downloaded(artifact).await.inspect(|_| self.routes.took(Route::Http))
    }

    async fn streamed(
        &self,
        mut client: StreamClient,
        source: &SourceId,
        artifact: &Artifact,
    ) -> Result<FileMap, Error> {
        let digest = Digest::parse(&artifact.digest).map_err(|error| Error::Verify(error.to_string()))?;
        let request = FetchRequest {
            kind: source.kind.clone(),
            namespace: source.key.namespace.clone(),
            name: source.key.name.clone(),
            digest: artifact.digest.clone(),
        };
        let mut chunks = client.fetch(request).await.map_err(|status| refusal(&status))?.into_inner();
        let mut spool = Spool::new(&digest, self.limits.download);
        while let Some(message) = chunks.message().await.map_err(|status| refusal(&status))? {
            spool.push(&message.chunk).map_err(|error| verification(&error))?;
        }
        let blob = spool.finish().map_err(|error| verification(&error))?;
        let limits = self.limits;
        let files = tokio::task::spawn_blocking(move || blob.files(limits)).await;
        let files = files.map_err(|error| Error::Extract(error.to_string()))?;
        files.map_err(|error| Error::Extract(error.to_string()))
    }

    async fn downloaded(&self, artifact: &Artifact) -> Result<FileMap, Error> {
        let http = if artifact.url.contains("//source-watcher") { &self.watcher_http } else { &self.http };
        let mut pause = RETRY_PAUSE.0;
        for _ in 0..self.retries {
            match http.files(&artifact.url, &artifact.digest).await {
                Err(error) if may_pass(&error) => sleep(pause).await,
                answer => return answer.map_err(failure),
            }
            pause = (pause * 2).min(RETRY_PAUSE.1);
        }
        http.files(&artifact.url, &artifact.digest).await.map_err(failure)
    }
}

fn refusal(status: &tonic::Status) -> Error {
    match status.code() {
        tonic::Code::NotFound => Error::NotFound,
        // The HTTP server of the same service may still be there, and it needs no token.
        _ => Error::Transport(status.to_string()),
    }
}

/// Whether the same download may succeed in a moment.
fn may_pass(error: &FetchError) -> bool {
    match error {
        FetchError::Transport { .. } => true,
        FetchError::Status { status, .. } => status.is_server_error() || status.as_u16() == 429,
        _ => false,
    }
}

fn verification(error: &SpoolError) -> Error {
    Error::Verify(error.to_string())
}

fn failure(error: FetchError) -> Error {
    match error {
        FetchError::NotFound { .. } => Error::NotFound,
        FetchError::Status { url, status } => Error::Status { url, status: status.to_string() },
        FetchError::Digest(error) => Error::Verify(format!("failed to parse digest: {error}")),
        FetchError::Spool(error) => verification(&error),
        FetchError::Untar(error) => Error::Extract(error.to_string()),
        FetchError::Client { .. } | FetchError::Transport { .. } | FetchError::Unpack { .. } => {
            Error::Transport(error.to_string())
        }
    }
}
