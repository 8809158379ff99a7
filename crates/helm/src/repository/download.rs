//! One download, put down in a temporary file while it is hashed and counted.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::time::Duration;

use bytes::Bytes;
use reqwest::Response;
use reqwest::header::{ETAG, HeaderMap, HeaderValue};
use tokio::io::{AsyncSeekExt, AsyncWriteExt};
use tokio::time::{Instant, timeout_at};
use url::Url;
use weir_artifact::{Algorithm, Digest, Hasher, Room};

use super::FetchError;

/// The words of Go's client about a server that does not answer in time.
const NO_ANSWER: &str = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";

/// Bytes of the longest mark that is kept: those of servers are digests or times.
const LONGEST_MARK: usize = 256;

/// The mark by which a server knows one state of a file (`ETag`, RFC 9110 8.8.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark(HeaderValue);

impl Mark {
    fn of(headers: &HeaderMap) -> Option<Self> {
        headers.get(ETAG).filter(|mark| mark.len() <= LONGEST_MARK).cloned().map(Self)
    }

    pub(super) fn value(&self) -> &HeaderValue {
        &self.0
    }
}

/// A file that was fetched; it goes away with its handle.
#[derive(Debug)]
pub struct Fetched {
    /// The content, at its start.
    pub file: File,
    /// Its bytes.
    pub size: u64,
    /// Its mark, if the server has given one.
    pub mark: Option<Mark>,
    sha256: String,
}

impl Fetched {
    /// Its SHA-256 in hexadecimal.
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Its digest. Reads the file, and blocks, for any algorithm but SHA-256.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn digest(&mut self, algorithm: Algorithm) -> io::Result<Digest> {
        if algorithm == Algorithm::Sha256 {
            return Digest::parse(&format!("sha256:{}", self.sha256)).map_err(io::Error::other);
        }
        let mut hasher = Hasher::new(algorithm);
        io::copy(&mut self.file, &mut hasher)?;
        self.file.rewind()?;
        Ok(hasher.finish())
    }

    /// Its bytes in memory, which are as many as its cap allowed. Blocks on the disk.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn into_bytes(mut self) -> io::Result<Bytes> {
        let mut bytes = Vec::with_capacity(usize::try_from(self.size).unwrap_or_default());
        self.file.read_to_end(&mut bytes)?;
        Ok(bytes.into())
    }
}

/// Waits for the answer to a request and takes at most `limit` bytes of it, all within `timeout`.
pub(super) async fn download(
    answer: impl Future<Output = Result<Response, reqwest::Error>>,
    url: &Url,
    what: &'static str,
    limit: u64,
    timeout: Duration,
) -> Result<Fetched, FetchError> {
    let deadline = Instant::now() + timeout;
    let silent = || FetchError::Transport { url: weir_http::shown(url), reason: NO_ANSWER.to_owned() };
    let transport = |error: reqwest::Error| FetchError::Transport {
        url: weir_http::shown(url),
        reason: weir_http::reason(&error, url),
    };
    let response = timeout_at(deadline, answer).await.map_err(|_| silent())?.map_err(transport)?;
    if response.status() != reqwest::StatusCode::OK {
        let retry_after = weir_http::asked_wait(response.headers());
        return Err(FetchError::Status {
            url: weir_http::shown(url),
            status: response.status(),
            retry_after,
        });
    }
    let too_large = || FetchError::TooLarge { what, limit };
    if response.content_length().is_some_and(|length| length > limit) {
        return Err(too_large());
    }
    let taken = timeout_at(deadline, take(response, limit, transport, too_large)).await;
    taken.unwrap_or(Err(FetchError::SlowBody))
}

async fn take(
    mut response: Response,
    limit: u64,
    transport: impl Fn(reqwest::Error) -> FetchError,
    too_large: impl Fn() -> FetchError,
) -> Result<Fetched, FetchError> {
    let write = |source| FetchError::Write { source };
    let file = tokio::task::spawn_blocking(tempfile::tempfile).await;
    let file = file.map_err(io::Error::other).and_then(|file| file).map_err(write)?;
    let mut file = tokio::fs::File::from_std(file);
    let (mut hasher, mut size, mark) = (Hasher::new(Algorithm::Sha256), 0, Mark::of(response.headers()));
    let mut room = Room::for_temporary_files();
    while let Some(chunk) = response.chunk().await.map_err(&transport)? {
        size += chunk.len() as u64;
        if size > limit {
            return Err(too_large());
        }
        hasher.update(&chunk);
        room.take(chunk.len() as u64).map_err(write)?;
        file.write_all(&chunk).await.map_err(write)?;
    }
    file.flush().await.map_err(write)?;
    file.rewind().await.map_err(write)?;
    let digest = hasher.finish();
    Ok(Fetched { file: file.into_std().await, size, mark, sha256: digest.hex().to_owned() })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(Algorithm::Sha256)]
    #[case(Algorithm::Sha512)]
    fn digests_leave_the_file_at_its_start(#[case] algorithm: Algorithm) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"abc").unwrap();
        file.rewind().unwrap();
        let sha256 = Digest::of(Algorithm::Sha256, b"abc").hex().to_owned();
        let mut fetched = Fetched { file, size: 3, mark: None, sha256 };
        assert_eq!(fetched.digest(algorithm).unwrap(), Digest::of(algorithm, b"abc"));
        assert_eq!(fetched.into_bytes().unwrap(), "abc");
    }
}
