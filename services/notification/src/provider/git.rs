//! The common part of the commit status types: address, commit, default name (NTF-6, NTF-7, NTF-70, NTF-72).

use sha1::{Digest, Sha1};
use url::Url;

use super::{InitError, RenderError};
use crate::event::metadata::{COMMIT, ORIGIN_REVISION, REVISION};
use crate::event::text::object_name;
use crate::event::{Event, ObjectReference};

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
    /// Reads `https://host/path`, `ssh://git@host/path` and `git@host:path`; SSH turns into HTTPS.
    pub(super) fn parse(address: &str) -> Result<Self, InitError> {
        let as_url = match address.split_once("://") {
            Some(("ssh", rest)) => {
                let rest = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
                let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
                // The port of an SSH address does not apply to the web server.
                format!("https://{}/{path}", host.split(':').next().unwrap_or_default())
            }
            Some(_) => address.to_owned(),
            None => match address.split_once('@').and_then(|(_, rest)| rest.split_once(':')) {
                Some((host, path)) => format!("https://{host}/{path}"),
                None => address.to_owned(),
            },
        };
        let url = super::address::parse(&as_url).map_err(InitError::Address)?;
        let id = url.path().trim_start_matches('/').trim_end_matches('/');
        let id = id.strip_suffix(".git").unwrap_or(id).to_owned();
        let mut host = super::address::with_path(&url, "");
        // The token logs in; a login in the address is that of Git. Neither can fail for `http` and `https`.
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

/// The service's word for the event's severity.
pub(super) fn state(
    event: &Event,
    info: &'static str,
    error: &'static str,
    forge: &'static str,
) -> Result<&'static str, RenderError> {
    match event.severity.as_str() {
        crate::event::SEVERITY_INFO => Ok(info),
        crate::event::SEVERITY_ERROR => Ok(error),
        _ => Err(RenderError::Severity(forge)),
    }
}

#[cfg(test)]
mod tests;
