//! The consumer's side: an artifact by URL and digest, verified before a single entry is unpacked (SRC-CNS-1).

mod spool;

use std::io;
use std::time::Duration;

use futures::TryStreamExt;
use reqwest::{Method, StatusCode, redirect};
use weir_http::{Unanswered, go_url};

pub use self::spool::{Spool, SpoolError, VerifiedBlob};
use crate::digest::{Digest, DigestError};
use crate::limits::Limits;
use crate::untar::{FileMap, UntarError};
use crate::work_folder::WorkFolder;

/// Time to connect; the whole download has [`Limits::timeout`].
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time without a byte after which a download is given up: who asks has others to serve.
const STALL_TIMEOUT: Duration = Duration::from_secs(10);
/// Redirects of one download. Artifact servers do not redirect; storage behind them may once or twice.
const MAX_REDIRECTS: usize = 5;

/// Errors of getting an artifact.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The client could not be made.
    #[error("failed to create HTTP client: {source}")]
    Client {
        /// The library's error.
        #[source]
        source: reqwest::Error,
    },
    /// The artifact is gone or not served yet: a newer one will be advertised, or it comes back.
    #[error("artifact not found at {url}")]
    NotFound {
        /// URL of the request.
        url: String,
    },
    /// The URL is none.
    #[error("failed to create a new request: {0}")]
    Url(String),
    /// Any other answer.
    #[error("failed to download archive from {url} (status: {status})")]
    Status {
        /// URL of the request.
        url: String,
        /// The answer.
        status: StatusCode,
    },
    /// No answer, or it broke off.
    #[error("failed to download archive: {0}")]
    Transport(Unanswered),
    /// The status has no usable digest; content that cannot be verified is not used.
    #[error("failed to verify archive: {0}")]
    Digest(#[from] DigestError),
    /// The content is too large or does not have its digest.
    #[error("failed to verify archive: {0}")]
    Spool(#[from] SpoolError),
    /// The content is no archive that is safe to unpack.
    #[error("failed to extract archive (check whether file size exceeds max download size): {0}")]
    Untar(#[from] UntarError),
    /// The temporary directory could not be used.
    #[error("failed to unpack artifact: {source}")]
    Unpack {
        /// The file system's words.
        #[source]
        source: io::Error,
    },
}

/// Downloads artifacts. Cheap to clone; share one per process.
#[derive(Clone)]
pub struct Fetcher {
    client: reqwest::Client,
    limits: Limits,
    host: Option<String>,
}

impl Fetcher {
    /// A fetcher. `host` (`host:port`) replaces the host of every URL, as `SOURCE_CONTROLLER_LOCALHOST` does for local
    /// development (SRC-CNS-2).
    ///
    /// # Errors
    /// When no HTTP client can be made.
    pub fn new(limits: Limits, host: Option<String>) -> Result<Self, FetchError> {
        let client = weir_http::client_builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(limits.timeout)
            .read_timeout(STALL_TIMEOUT)
            .redirect(redirect::Policy::limited(MAX_REDIRECTS))
            .no_gzip()
            .build()
            .map_err(|source| FetchError::Client { source })?;
        Ok(Self { client, limits, host })
    }

    /// Downloads and verifies; what comes back is the archive itself.
    ///
    /// # Errors
    /// Fails when the artifact cannot be had, is too large, or does not have the `digest`.
    pub async fn blob(&self, url: &str, digest: &str) -> Result<VerifiedBlob, FetchError> {
        let digest = Digest::parse(digest)?;
        let url = go_url::parse(&self.redirected(url)).map_err(FetchError::Url)?;
        let transport =
            |error: reqwest::Error| FetchError::Transport(Unanswered::new(&Method::GET, &url, &error));
        let response = self.client.get(url.clone()).send().await.map_err(transport)?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Err(FetchError::NotFound { url: weir_http::shown(&url) }),
            status => return Err(FetchError::Status { url: weir_http::shown(&url), status }),
        }
        let mut spool = Spool::new(&digest, self.limits.download);
        let mut body = response.bytes_stream();
        while let Some(chunk) = body.try_next().await.map_err(transport)? {
            spool.push(&chunk).await?;
        }
        Ok(spool.finish().await?)
    }

    /// Downloads, verifies and unpacks into memory. Symlinks are left out.
    ///
    /// # Errors
    /// As [`Fetcher::blob`], and when the archive is not safe to unpack.
    pub async fn files(&self, url: &str, digest: &str) -> Result<FileMap, FetchError> {
        let blob = self.blob(url, digest).await?;
        let limits = self.limits;
        Ok(on_blocking_thread(move || blob.files(limits)).await??)
    }

    /// Downloads, verifies and unpacks into a fresh temporary directory, which goes when the value is dropped.
    ///
    /// # Errors
    /// As [`Fetcher::blob`], and when the archive is not safe to unpack or cannot be written.
    pub async fn directory(&self, url: &str, digest: &str) -> Result<WorkFolder, FetchError> {
        let blob = self.blob(url, digest).await?;
        let limits = self.limits;
        on_blocking_thread(move || blob.directory(limits)).await?
    }

    fn redirected(&self, url: &str) -> String {
        let Some(host) = &self.host else { return url.to_owned() };
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let path = rest.split_once('/').map_or("", |(_, path)| path);
        format!("http://{host}/{path}")
    }
}

/// Runs `work` where it may block. A panic in it becomes an error of the caller.
async fn on_blocking_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, FetchError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| FetchError::Unpack { source: io::Error::other(error) })
}
