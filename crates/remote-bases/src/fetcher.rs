//! Fetching for one build.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::StatusCode;
use tokio::runtime::Handle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;
use weir_git::{Allowance, Credentials, Fetched, Git, GitConfig, Reference, parse_url};
use weir_http::{BodyError, Clients, Profile};
use weir_kustomize::{Answer, FetchError, FileSystem, GitUrl, Remote};

use crate::ssh_folder::SshFolder;
use crate::tree::CommitTree;

/// All fetches of one build, whatever time its references ask for: a build waits for them.
const MAX_TIME: Duration = Duration::from_secs(10 * 60);
/// Bytes of all repositories of one build as they come over the network. Without history, the largest that kustomizations
/// are kept in have some 200 MB; they lie in the temporary folder until the build ends.
const MAX_REPOSITORY_BYTES: usize = 1 << 30;
const USER_AGENT: &str = "weir";

/// The parts that all builds of a process share. Cheap to clone.
#[derive(Clone)]
pub struct RemoteBases {
    git: Git,
    http: Clients,
    ssh: Option<SshFolder>,
}

impl RemoteBases {
    /// Makes clients that have no request yet. Without [`RemoteBases::with_ssh_folder`] SSH is refused.
    ///
    /// # Errors
    /// When libgit2 cannot be prepared.
    pub fn new() -> Result<Self, weir_git::Error> {
        Ok(Self { git: Git::new(GitConfig::default())?, http: Clients::new(USER_AGENT), ssh: None })
    }

    /// Takes the user's key and the hosts that are known to them from a folder such as `~/.ssh`. It is read when a
    /// reference needs it.
    #[must_use]
    pub fn with_ssh_folder(self, folder: PathBuf) -> Self {
        Self { ssh: Some(SshFolder(folder)), ..self }
    }

    /// A fetcher for a build that may fetch for so long, at most ten minutes, and stops when it is cancelled. Must be called
    /// inside a tokio runtime; the build itself must run on a thread of its own.
    pub fn for_build(&self, time: Duration, cancel: CancellationToken) -> Fetcher {
        let time = time.min(MAX_TIME);
        let deadline = Instant::now() + time;
        let allowance = Allowance::new(MAX_REPOSITORY_BYTES);
        Fetcher { shared: self.clone(), runtime: Handle::current(), time, deadline, allowance, cancel }
    }
}

/// Fetches for one build.
pub struct Fetcher {
    shared: RemoteBases,
    runtime: Handle,
    /// Time for all fetches.
    time: Duration,
    deadline: Instant,
    allowance: Allowance,
    cancel: CancellationToken,
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

impl Remote for Fetcher {
    fn repository(&self, url: &GitUrl) -> Result<Box<dyn FileSystem>, FetchError> {
        let remote = self.remote(url)?;
        let time = remote.timeout;
        let name = url.reference.as_deref().unwrap_or("HEAD");
        let failed = |error: weir_git::Error| match error {
            weir_git::Error::Deadline | weir_git::Error::Late { .. } => {
                FetchError::Timeout { url: url.repository.clone(), limit: time }
            }
            error => {
                let text = format!("failed to fetch '{}' at '{name}': {error}", url.repository);
                // Some servers refuse without a word.
                FetchError::Failed(text.trim_end_matches(": ").to_owned())
            }
        };
        let reference = Reference::Short(name.to_owned());
        let tree = self.within(&url.repository, async {
            let checkout = match self.shared.git.fetch(&remote, &reference, None).await.map_err(failed)? {
                Fetched::New(checkout) => checkout,
                // Nothing is known, so nothing can be unchanged.
                Fetched::Unchanged { revision } => {
                    return Err(failed(weir_git::Error::RefNotFound { name: revision }));
                }
            };
            let submodules = match url.submodules {
                true => self.shared.git.submodules(&remote, &checkout, |_| true).await.map_err(failed)?,
                false => Vec::new(),
            };
            CommitTree::new(&checkout, &submodules).map_err(failed)
        })?;
        Ok(Box::new(tree))
    }

    fn get(&self, url: &str, limit: u64) -> Result<Answer, FetchError> {
        let failed = |reason: String| FetchError::Failed(format!("Get \"{url}\": {reason}"));
        let place = Url::parse(url).map_err(|error| failed(error.to_string()))?;
        let client = self.shared.http.get(&Profile::default()).map_err(|error| failed(error.to_string()))?;
        let broken = |error: &reqwest::Error| failed(weir_http::reason(error, &place));
        // `timeout=` is for the steps of a repository (KZ-313); a file may take what is left of the build's time.
        self.within(url, async {
            let response = client.get(place.clone()).send().await.map_err(|error| broken(&error))?;
            let status = response.status();
            if !status.is_success() {
                return Ok(Answer::Refusal { status: status.as_u16(), name: name_of(status) });
            }
            match weir_http::read_capped(response, usize::try_from(limit).unwrap_or(usize::MAX)).await {
                Ok(content) => Ok(Answer::Content(content.to_vec())),
                Err(BodyError::TooLarge { .. }) => Err(FetchError::TooLarge { url: url.to_owned(), limit }),
                Err(BodyError::Broken(error)) => Err(broken(&error)),
            }
        })
    }
}

impl Fetcher {
    /// The repository, with who we are there.
    fn remote(&self, url: &GitUrl) -> Result<weir_git::Remote, FetchError> {
        let failed =
            |reason: String| FetchError::Failed(format!("failed to fetch '{}': {reason}", url.repository));
        let place = parse_url(&url.repository).map_err(|error| failed(error.to_string()))?;
        let credentials = match (place.scheme(), &self.shared.ssh) {
            ("ssh", Some(folder)) => {
                Credentials::Ssh(folder.read().map_err(|error| failed(error.to_string()))?)
            }
            ("ssh", None) => {
                return Err(failed(
                    "there is no key and no known host for SSH here; use an https:// URL".to_owned(),
                ));
            }
            _ => Credentials::from_secret(&place, &BTreeMap::new())
                .map_err(|error| failed(error.to_string()))?,
        };
        let mut remote = weir_git::Remote::new(place);
        remote.credentials = credentials;
        remote.allowance = Some(self.allowance.clone());
        remote.timeout = url.timeout.min(self.left());
        remote.cancel = self.cancel.clone();
        Ok(remote)
    }

    /// Returns the time left for the build.
    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Waits for something on this thread, until the time of the build is over.
    fn within<T>(
        &self,
        url: &str,
        work: impl Future<Output = Result<T, FetchError>>,
    ) -> Result<T, FetchError> {
        let timeout = FetchError::Timeout { url: url.to_owned(), limit: self.time };
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => Err(FetchError::Failed(format!("fetching '{url}' was cancelled"))),
                done = tokio::time::timeout_at(self.deadline, work) => done.unwrap_or(Err(timeout)),
            }
        })
    }
}

fn name_of(status: StatusCode) -> String {
    status.canonical_reason().unwrap_or_default().to_owned()
}
