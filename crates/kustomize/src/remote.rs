//! Bases and files that lie elsewhere (§3.2). The engine has no network: whoever builds hands it a [`Remote`], and
//! without one every remote reference is refused.

mod discreet;
mod fetched;
mod git_url;

use std::fmt;
use std::time::Duration;

pub(crate) use discreet::without_secrets;
pub(crate) use fetched::Fetched;
pub use git_url::{GitUrl, GitUrlError};

use crate::fs::{FileSystem, FsPath};

/// Fetches what references of one build lead to.
///
/// Both calls may block. The engine caps how often it calls and how much it keeps; time and the size of a repository are
/// the implementation's to bound.
pub trait Remote: fmt::Debug + Send + Sync {
    /// The tree of the commit that `url` names, from the root of the repository, with its submodules if they are wanted.
    ///
    /// # Errors
    /// The repository or the commit cannot be had, or not within its caps.
    fn repository(&self, url: &GitUrl) -> Result<Box<dyn FileSystem>, FetchError>;

    /// Returns the server's answer to `GET url`, after redirects.
    ///
    /// # Errors
    /// There is no answer, or its body has more than `limit` bytes.
    fn get(&self, url: &str, limit: u64) -> Result<Answer, FetchError>;
}

/// An answer over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The body of a successful one.
    Content(Vec<u8>),
    /// Any other.
    Refusal {
        /// The status code.
        status: u16,
        /// The name of the code.
        name: String,
    },
}

/// Errors of a fetch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// It took too long.
    #[error("hit {limit:?} timeout fetching '{url}'")]
    Timeout {
        /// The URL, as messages show it.
        url: String,
        /// The time that it had.
        limit: Duration,
    },
    /// It is larger than the cap.
    #[error("'{url}' is larger than the {limit} bytes that are fetched")]
    TooLarge {
        /// The URL, as messages show it.
        url: String,
        /// The cap in bytes.
        limit: u64,
    },
    /// Anything else, with the request and the reason of its failure.
    #[error("{0}")]
    Failed(String),
}

/// A remote reference that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// Remote references are off (KZ-316).
    #[error("remote resource '{0}' is not allowed: remote bases are disabled")]
    Disabled(String),
    /// A server's answer for something that can be no repository (KZ-310).
    #[error("HTTP Error: status code {status} ({name})")]
    Status {
        /// The status code.
        status: u16,
        /// The name of the code.
        name: String,
    },
    /// A server's answer for something that may be a repository; it is tried as one next (KZ-310).
    #[error("URL is a git repository")]
    IsRepository,
    /// See [`GitUrlError`].
    #[error(transparent)]
    Url(#[from] GitUrlError),
    /// See [`FetchError`].
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// A repository that leads back to itself (KZ-315).
    #[error("cycle detected: URI '{new}' referenced by previous URI '{previous}'")]
    Cycle {
        /// The reference.
        new: String,
        /// The reference that led to it.
        previous: String,
    },
    /// The directory that a URL names is a link out of the repository (KZ-314).
    #[error("\"{path}\" refers to directory outside of repo \"{repository}\"")]
    OutsideRepository {
        /// The directory.
        path: FsPath,
        /// The root of the repository.
        repository: FsPath,
    },
    /// A URL names a file of a repository where a directory is wanted.
    #[error("'{path}' refers to file '{file}'; expecting directory")]
    IsFile {
        /// The path as the URL has it.
        path: FsPath,
        /// The name of the file.
        file: String,
    },
    /// A base that leads out of the repository that names it (KZ-304).
    #[error(
        "security; bases in kustomizations found in cloned git repos must be within the repo, but base '{base}' is \
         outside '{repository}'"
    )]
    LeavesRepository {
        /// The base.
        base: FsPath,
        /// The root of the repository.
        repository: FsPath,
    },
    /// A local directory where fetched ones are shown (KZ-321).
    #[error("'{0}' cannot be built: the name is reserved for what is fetched")]
    Reserved(FsPath),
    /// More references than one build may fetch.
    #[error("more than {0} remote resources in one build")]
    TooMany(usize),
    /// More bytes than one build may download.
    #[error("remote files of one build have more than {0} bytes")]
    TooManyBytes(u64),
}

impl RemoteError {
    /// Returns true when the time was over: then the place may be right after all.
    pub(crate) fn is_timeout(&self) -> bool {
        matches!(self, Self::Fetch(FetchError::Timeout { .. }))
    }

    /// Returns true when a reference that was tried as a file need not be tried as a repository: for a file, a timeout
    /// means that the time of the build is over.
    pub(crate) fn is_final(&self) -> bool {
        self.is_timeout()
            || matches!(
                self,
                Self::Disabled(_) | Self::Status { .. } | Self::TooMany(_) | Self::TooManyBytes(_)
            )
    }
}

/// Returns true when a file reference is an HTTP URL (KZ-310).
pub(crate) fn is_url(reference: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| after(reference, scheme).is_some())
}

/// Returns the text behind a prefix whose case does not matter.
fn after<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}
