//! Chart repositories over HTTP: the index and the packages (SRC-HRP-2, SRC-HRP-3, SRC-HRP-7, SRC-CHT-8).

mod download;

use std::time::Duration;

use reqwest::header::IF_NONE_MATCH;
use reqwest::{Client, Response, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use url::Url;
use weir_artifact::{Algorithm, Digest};

pub use self::download::{Fetched, Mark};

/// Name of the index below a repository's URL.
const INDEX_FILE: &str = "index.yaml";

/// Errors of fetching something of a repository. No text holds user info or a query.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The server could not be asked.
    #[error("Get \"{url}\": {reason}")]
    Transport {
        /// The index or chart that was requested.
        url: String,
        /// Cause, in Go's text.
        reason: String,
    },
    /// The answer did not come to its end in time; in Go's text.
    #[error("context deadline exceeded (Client.Timeout or context cancellation while reading body)")]
    SlowBody,
    /// The server refused.
    #[error("failed to fetch {url} : {status}")]
    Status {
        /// The index or chart that was requested.
        url: String,
        /// Code and phrase.
        status: StatusCode,
        /// Time for which it wants to be left alone.
        retry_after: Option<Duration>,
    },
    /// More bytes than allowed.
    #[error("{what} exceeds the maximum {what} file size of {limit} bytes")]
    TooLarge {
        /// Index or chart.
        what: &'static str,
        /// The cap.
        limit: u64,
    },
    /// The package is not the one that the index speaks of.
    #[error("digest of {url} is sha256:{actual}, the index has {expected}")]
    Digest {
        /// URL of the request.
        url: String,
        /// The index's word.
        expected: String,
        /// Digest received.
        actual: String,
    },
    /// The package's address is none.
    #[error("invalid chart URL format: {url}")]
    Url {
        /// URL in the index.
        url: String,
    },
    /// The version has no address at all.
    #[error("chart '{chart}' has no downloadable URLs")]
    NoUrl {
        /// The chart.
        chart: String,
    },
    /// A download could not be stored.
    #[error("failed to write download: {source}")]
    Write {
        /// The file system's words.
        #[source]
        source: std::io::Error,
    },
}

impl FetchError {
    /// Returns the time for which the server wants to be left alone, if it has named one.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Returns true when it is the disk that failed, and not the server.
    #[must_use]
    pub fn is_of_disk(&self) -> bool {
        matches!(self, Self::Write { .. })
    }
}

/// User and password of a repository.
#[derive(Debug, Clone)]
pub struct BasicAuth {
    /// The user.
    pub username: String,
    /// The password.
    pub password: SecretString,
    /// True when they are sent to other hosts that the index names, too.
    pub pass_on: bool,
}

/// A chart repository.
#[derive(Debug, Clone)]
pub struct Repository {
    url: Url,
    client: Client,
    credentials: Option<BasicAuth>,
    timeout: Duration,
}

/// A repository's URL in its one form: a trailing slash for HTTP, none for registries. The query stays (SRC-HRP-2).
#[must_use]
pub fn normalized(mut url: Url) -> Url {
    let trimmed = url.path().trim_end_matches('/').to_owned();
    let path = if url.scheme() == "oci" { trimmed } else { format!("{trimmed}/") };
    url.set_path(&path);
    url
}

impl Repository {
    /// A repository at `url`, reached with `client`; a whole download takes at most `timeout` (DEV 4).
    #[must_use]
    pub fn new(url: Url, client: Client, credentials: Option<BasicAuth>, timeout: Duration) -> Self {
        Self { url: normalized(url), client, credentials, timeout }
    }

    /// Downloads the index of at most `limit` bytes, as it is served.
    ///
    /// # Errors
    /// When the server does not give it, or it is larger.
    pub async fn index(&self, limit: u64) -> Result<Fetched, FetchError> {
        let url = self.index_url();
        download::download(self.answer(&url, None), &url, "index", limit, self.timeout).await
    }

    /// Downloads the index as [`Self::index`] does, unless it is still the one with this mark: then there is nothing.
    ///
    /// # Errors
    /// When the server does not give it, or it is larger.
    pub async fn index_unless(&self, mark: &Mark, limit: u64) -> Result<Option<Fetched>, FetchError> {
        let url = self.index_url();
        let answer = self.answer(&url, Some(mark));
        match download::download(answer, &url, "index", limit, self.timeout).await {
            Err(FetchError::Status { status: StatusCode::NOT_MODIFIED, .. }) => Ok(None),
            fetched => fetched.map(Some),
        }
    }

    fn index_url(&self) -> Url {
        let mut url = self.url.clone();
        let path = format!("{}{INDEX_FILE}", url.path());
        url.set_path(&path);
        url
    }

    /// Downloads a package of at most `limit` bytes from the first of its URLs; its content is checked where the index
    /// has a digest (SRC-CHT-8).
    ///
    /// # Errors
    /// When there is no usable URL, the server does not give it, or it is another package.
    pub async fn chart(
        &self,
        name: &str,
        release: &crate::index::Release,
        limit: u64,
    ) -> Result<Fetched, FetchError> {
        let reference = release.urls.first().ok_or_else(|| FetchError::NoUrl { chart: name.to_owned() })?;
        let url = self.resolve(reference)?;
        let answer = self.answer(&url, None);
        let fetched = download::download(answer, &url, "chart", limit, self.timeout).await?;
        let expected = release.digest.trim_start_matches("sha256:");
        if is_sha256(expected) && !fetched.sha256().eq_ignore_ascii_case(expected) {
            return Err(FetchError::Digest {
                url: weir_http::shown(&url),
                expected: release.digest.clone(),
                actual: fetched.sha256().to_owned(),
            });
        }
        Ok(fetched)
    }

    /// The address of a package: relative ones lie below the repository, and get its query.
    fn resolve(&self, reference: &str) -> Result<Url, FetchError> {
        let refuse = || FetchError::Url { url: weir_http::shown_text(reference) };
        let url = match Url::parse(reference) {
            Ok(url) => url,
            Err(url::ParseError::RelativeUrlWithoutBase) => {
                let mut url = self.url.join(reference).map_err(|_| refuse())?;
                // `//host/…` is relative too, and the query may hold a token of this server.
                if url.query().is_none() && self.is_own(&url) {
                    url.set_query(self.url.query());
                }
                url
            }
            Err(_) => return Err(refuse()),
        };
        if matches!(url.scheme(), "http" | "https") {
            return Ok(url);
        }
        // Indexes of charts that moved to a registry are out in the world. The words are those of Go's client, for which
        // users of Flux search.
        Err(FetchError::Transport {
            url: weir_http::shown(&url),
            reason: format!("unsupported protocol scheme {:?}", url.scheme()),
        })
    }

    async fn answer(&self, url: &Url, unless: Option<&Mark>) -> Result<Response, reqwest::Error> {
        let given = self.credentials.as_ref().filter(|given| given.pass_on || self.is_own(url));
        let given = given.map(|given| (given.username.clone(), given.password.clone()));
        // As Go's client does, which Flux's users know: who has no other credentials gives those of the URL.
        let login = given.or_else(|| weir_http::user_info(url));
        let request = |url: &Url| {
            let request = self.client.get(weir_http::without_user_info(url));
            unless.into_iter().fold(request, |request, mark| request.header(IF_NONE_MATCH, mark.value()))
        };
        let request_as = |url: &Url| {
            let (user, password) = login.as_ref()?;
            Some(request(url).basic_auth(user, Some(password.expose_secret())))
        };
        let first = request_as(url).unwrap_or_else(|| request(url));
        weir_http::send_upgraded(first, url, request_as).await
    }

    /// Returns true when a URL is on the repository's own server: credentials go nowhere else unasked (SRC-SCK-7).
    fn is_own(&self, url: &Url) -> bool {
        url.scheme() == self.url.scheme()
            && url.host_str() == self.url.host_str()
            && url.port_or_known_default() == self.url.port_or_known_default()
    }
}

fn is_sha256(text: &str) -> bool {
    Digest::parse(&format!("sha256:{}", text.to_lowercase()))
        .is_ok_and(|digest| digest.algorithm() == Algorithm::Sha256)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn repository(url: &str) -> Repository {
        Repository::new(Url::parse(url).unwrap(), Client::new(), None, Duration::from_secs(1))
    }

    #[rstest]
    #[case("http://h/charts", "http://h/charts/")]
    #[case("http://h/charts///?a=b", "http://h/charts/?a=b")]
    #[case("http://h/a%2Fb/", "http://h/a%2Fb/")]
    #[case("oci://h/charts/", "oci://h/charts")]
    fn one_form(#[case] url: &str, #[case] expected: &str) {
        assert_eq!(normalized(Url::parse(url).unwrap()).as_str(), expected);
    }

    #[rstest]
    #[case("a-1.tgz", "http://h/charts/a-1.tgz?k=v")]
    #[case("/a-1.tgz", "http://h/a-1.tgz?k=v")]
    #[case("https://other/a.tgz", "https://other/a.tgz")]
    #[case("//other/a.tgz", "http://other/a.tgz")]
    #[case("a.tgz?x=y", "http://h/charts/a.tgz?x=y")]
    fn addresses(#[case] reference: &str, #[case] expected: &str) {
        assert_eq!(repository("http://h/charts?k=v").resolve(reference).unwrap().as_str(), expected);
    }

    #[rstest]
    #[case("file:///etc/passwd", "Get \"file:///etc/passwd\": unsupported protocol scheme \"file\"")]
    #[case("oci://u:p@h/a:1?k=v", "Get \"oci://h/a:1\": unsupported protocol scheme \"oci\"")]
    #[case("http://", "invalid chart URL format: http://")]
    fn no_addresses(#[case] reference: &str, #[case] expected: &str) {
        let refused = repository("http://h/charts").resolve(reference);
        assert_eq!(refused.unwrap_err().to_string(), expected);
    }

    #[rstest]
    #[case("http://h/x", true)]
    #[case("http://h:80/x", true)]
    #[case("http://h:81/x", false)]
    #[case("https://h/x", false)]
    #[case("http://h.evil/x", false)]
    fn own_server(#[case] url: &str, #[case] expected: bool) {
        assert_eq!(repository("http://h/charts").is_own(&Url::parse(url).unwrap()), expected);
    }
}
