//! Git URLs as kustomizations write them (KZ-311 to KZ-313): a repository, a directory in it, and how to fetch it.

mod query;

use std::time::Duration;

use super::after;
use crate::fs::FsPath;

/// Time for a step of a fetch where the URL does not say (KZ-313).
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(27);
const FORCED: &str = "git::";
const FILE: &str = "file://";
const SSH: &str = "ssh://";
const SCHEMES: [&str; 4] = [SSH, "https://", "http://", FILE];
/// Stands directly above repositories of Azure DevOps.
const AZURE: &str = "_git/";
const SUFFIX: &str = ".git";

/// A directory of a Git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitUrl {
    /// The reference as it was written.
    pub raw: String,
    /// Repository as Git takes it: a URL, or `user@host:path`.
    pub repository: String,
    /// The directory of the kustomization, from the root of the repository; empty for the root.
    pub path: String,
    /// Branch, tag or commit; the remote's `HEAD` if there is none.
    pub reference: Option<String>,
    /// Time for each step of the fetch.
    pub timeout: Duration,
    /// True when submodules are fetched too.
    pub submodules: bool,
}

/// Errors in a text that is no Git URL. Most texts tested are paths.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitUrlError {
    /// An absolute path.
    #[error("uri looks like abs path: {0}")]
    Absolute(String),
    /// No scheme, and nothing that can do without.
    #[error("failed to parse scheme")]
    Scheme,
    /// No host.
    #[error("failed to parse host segment")]
    Host,
    /// No repository.
    #[error("failed to parse repo path segment")]
    Repository,
    /// The directory is not in the repository.
    #[error("url path exits repo: {0}")]
    Exits(String),
}

impl GitUrl {
    /// Reads a reference.
    ///
    /// # Errors
    /// It is no Git URL.
    pub fn parse(text: &str) -> Result<Self, GitUrlError> {
        if text.starts_with('/') {
            return Err(GitUrlError::Absolute(text.to_owned()));
        }
        let (place, query) = text.split_once('?').unwrap_or((text, ""));
        let (host, rest) = host(after(place, FORCED).unwrap_or(place))?;
        let (repository, path) = split(rest, host == FILE).ok_or(GitUrlError::Repository)?;
        if repository.is_empty() {
            return Err(GitUrlError::Repository);
        }
        let path = path.strip_prefix('/').unwrap_or(path);
        FsPath::new(path).map_err(|_| GitUrlError::Exits(rest.to_owned()))?;
        let query = query::Query::parse(query);
        Ok(Self {
            raw: text.to_owned(),
            repository: host + repository,
            path: path.to_owned(),
            reference: query.reference,
            timeout: query.timeout.unwrap_or(DEFAULT_TIMEOUT),
            submodules: query.submodules.unwrap_or(true),
        })
    }

    /// Returns true when it starts with `git::`, which means nothing (KZ-311).
    pub(crate) fn is_forced(&self) -> bool {
        after(&self.raw, FORCED).is_some()
    }
}

/// Everything up to the path, GitHub's in one of two forms, and the path.
fn host(text: &str) -> Result<(String, &str), GitUrlError> {
    let known = SCHEMES.iter().find_map(|scheme| Some((*scheme, after(text, scheme)?)));
    let (scheme, rest) = known.unwrap_or(("", text));
    if scheme == FILE {
        return Ok((FILE.to_owned(), rest));
    }
    let (user, rest) = user(rest);
    let is_github = ["github.com/", "github.com:"].iter().any(|host| after(rest, host).is_some());
    let is_short = scheme.is_empty() && (!user.is_empty() || is_github);
    if scheme.is_empty() && !is_short {
        return Err(GitUrlError::Scheme);
    }
    let slash = rest.find('/');
    let colon =
        rest.find(':').filter(|colon| is_short && slash.is_none_or(|slash| (1..slash).contains(colon)));
    let end = colon.or(slash).map_or(rest.len(), |separator| separator + 1);
    let (host, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    match host {
        "" => Err(GitUrlError::Host),
        _ if is_github && (scheme == SSH || !user.is_empty()) => Ok((format!("{user}github.com:"), path)),
        _ if is_github => Ok(("https://github.com/".to_owned(), path)),
        host => Ok((format!("{scheme}{user}{host}"), path)),
    }
}

/// `name@` at the start, and the rest.
fn user(text: &str) -> (&str, &str) {
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_alphabetic())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let end = text.find('@').filter(|at| text.get(..*at).is_some_and(is_name)).map_or(0, |at| at + 1);
    text.split_at_checked(end).unwrap_or(("", text))
}

/// The repository and the directory in it, by the first mark that is there (KZ-312).
fn split(text: &str, is_all_repository: bool) -> Option<(&str, &str)> {
    if let Some(start) = text.find(AZURE) {
        let start = start + AZURE.len();
        let length = text.get(start..)?.find('/');
        return text.split_at_checked(length.map_or(text.len(), |length| start + length));
    }
    if let Some(parts) = text.split_once("//") {
        return Some(parts);
    }
    if let Some(start) = text.find(SUFFIX) {
        return text.split_at_checked(start + SUFFIX.len());
    }
    if is_all_repository {
        return Some((text, ""));
    }
    // Owner and repository, as GitHub has them.
    let mut slashes = text.match_indices('/').map(|(at, _)| at);
    slashes.next()?;
    text.split_at_checked(slashes.next().unwrap_or(text.len()))
}

#[cfg(test)]
mod tests;
