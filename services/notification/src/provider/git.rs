//! The common part of the commit status types: address, commit, default name (NTF-6, NTF-7, NTF-70, NTF-72).

use percent_encoding::percent_decode_str;
use sha1::{Digest, Sha1};
use url::Url;

use super::{InitError, RenderError};
use crate::event::metadata::{COMMIT, ORIGIN_REVISION, REVISION};
use crate::event::text::object_name;
use crate::event::{Event, ObjectReference};

/// Schemes of Git's addresses, next to SSH.
const TRANSPORTS: [&str; 7] = ["http", "https", "git", "git+ssh", "ftp", "ftps", "rsync"];
/// Length of a Git commit id in hex.
const COMMIT_LENGTH: usize = 40;

/// The name of a status where the Provider gives no expression: unique per cluster by the Provider's uid.
pub(crate) fn default_status(object: &ObjectReference, provider_uid: &str) -> String {
    let uid = provider_uid.split('-').next().unwrap_or_default();
    format!("{}/{}", object_name(object), uid.to_lowercase())
}

/// The name of a status as a key of 40 characters, where a service takes no longer one (NTF-74).
pub(super) fn status_key(name: &str) -> String {
    hex::encode(Sha1::digest(name))
}

/// A service and a repository on it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Repository {
    /// Scheme, host and port, with an empty path.
    pub(super) host: Url,
    /// Path of the repository without leading slash and `.git`.
    pub(super) id: String,
}

impl Repository {
    /// Reads `https://host/path`, `ssh://git@host:port/path` and `host:path` as Git does; SSH turns into HTTPS.
    pub(super) fn parse(address: &str) -> Result<Self, InitError> {
        let url = match address.split_once("://") {
            Some(("ssh", rest)) => Url::parse(&format!("https://{rest}")).ok(),
            Some((scheme, _)) if TRANSPORTS.contains(&scheme) => Url::parse(address).ok(),
            _ => None,
        };
        let url = url.or_else(|| {
            let (host, path) = of_scp(address)?;
            Url::parse(&format!("https://{host}/{}", path.trim_start_matches('/'))).ok()
        });
        // Git takes everything else for a file.
        let url = url.ok_or_else(|| InitError::Repository(short(address)))?;
        let id = short(&percent_decode_str(url.path()).decode_utf8_lossy());
        let mut host = super::address::with_path(&url, "");
        // The token logs in; a login in the address is that of Git. Neither can fail for a URL with a host.
        let _ = host.set_username("");
        let _ = host.set_password(None);
        Ok(Self { host, id })
    }

    /// Owner and name, where the service has exactly these two.
    pub(super) fn owner_and_name(&self) -> Result<(&str, &str), InitError> {
        match self.id.split_once('/') {
            Some((owner, name)) if !owner.is_empty() && !name.is_empty() && !name.contains('/') => {
                Ok((owner, name))
            }
            _ => Err(InitError::Repository(self.id.clone())),
        }
    }

    /// A URL of the service below its root.
    pub(super) fn api(&self, path: &str, query: &[(&str, &str)]) -> Url {
        let mut url = super::address::with_path(&self.host, path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }
}

/// Returns host and path of `user@host:path`, where the user may be missing.
fn of_scp(address: &str) -> Option<(&str, &str)> {
    let (login, path) = address.split_once(':')?;
    let (user, host) = login.split_once('@').unwrap_or(("git", login));
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let end = path.find(|c| !is_name(c) && c != '/').unwrap_or(path.len());
    let is_good = !user.is_empty()
        && user.chars().all(|c| is_name(c) || c == '~')
        && !host.is_empty()
        && host.chars().all(is_name);
    path.get(..end).filter(|path| is_good && !path.is_empty()).map(|path| (host, path))
}

/// Returns a path without what the name of a repository lacks.
fn short(path: &str) -> String {
    let id = path.trim_start_matches('/').trim_end_matches('/');
    id.strip_suffix(".git").unwrap_or(id).to_owned()
}

/// The commit that an event is about, taken from metadata without prefixes.
pub(super) fn commit(event: &Event) -> Result<String, RenderError> {
    let revision = [COMMIT, ORIGIN_REVISION, REVISION]
        .iter()
        .find_map(|key| event.metadata.get(*key))
        .ok_or(RenderError::NoRevision)?;
    let (_, hash) = revision.rsplit_once(':').or_else(|| revision.rsplit_once('/')).unwrap_or(("", revision));
    if hash.len() != COMMIT_LENGTH || !hash.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(RenderError::NoCommit(revision.clone()));
    }
    Ok(hash.to_owned())
}

/// The service's word for the event's severity; for others the error `unknown`.
pub(super) fn state(
    event: &Event,
    info: &'static str,
    error: &'static str,
    unknown: &'static str,
) -> Result<&'static str, RenderError> {
    match event.severity.as_str() {
        crate::event::SEVERITY_INFO => Ok(info),
        crate::event::SEVERITY_ERROR => Ok(error),
        _ => Err(RenderError::Severity(unknown)),
    }
}

#[cfg(test)]
mod tests;
