//! The place of a submodule's repository, and our identity there (DEV 19). A commit is not trusted: only the three
//! schemes of this crate are allowed, no commands, no files of this machine, and our credentials are sent only to the
//! parent's host.

use std::collections::BTreeMap;

use url::Url;

use crate::credentials::Credentials;
use crate::remote::Remote;

/// Bytes of a URL.
const MAX_URL_BYTES: usize = 2048;
const SCHEMES: [&str; 3] = ["http", "https", "ssh"];

/// Errors in the URL that a commit or a kustomization names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// Longer than any real one, or with characters that no URL has.
    #[error("the URL is malformed")]
    Malformed,
    /// It would be taken for an option by other programs.
    #[error("the URL or its host begins with a dash")]
    Option,
    /// A file, a command, or a protocol that is not spoken.
    #[error("the URL is none of http, https and ssh")]
    Scheme,
    /// More `../` than the parent's URL has components.
    #[error("the relative URL leads out of the host")]
    Outside,
}

impl Remote {
    /// Returns the remote of the submodule at `path`, whose URL in a commit of this remote is `url`.
    pub(super) fn of_submodule(&self, path: &str, url: &str) -> Result<Self, PlaceError> {
        let url = resolve(&self.url, url)?;
        let is_same = (url.scheme(), url.host_str(), url.port_or_known_default())
            == (self.url.scheme(), self.url.host_str(), self.url.port_or_known_default());
        let store = self.store.as_ref().map(|store| store.role(path));
        let mut remote = Self { url, store, part: None, ..self.clone() };
        if !is_same {
            remote.http.certificate = None;
            // User info that the commit itself names is no secret of ours. Over SSH that is never enough.
            remote.credentials =
                Credentials::from_secret(&remote.url, &BTreeMap::new()).unwrap_or(Credentials::None);
        }
        Ok(remote)
    }
}

fn resolve(parent: &Url, text: &str) -> Result<Url, PlaceError> {
    if text.starts_with("./") || text.starts_with("../") {
        check_text(text)?;
        return relative(parent, text);
    }
    parse_url(text)
}

fn check_text(text: &str) -> Result<(), PlaceError> {
    if text.is_empty() || text.len() > MAX_URL_BYTES || text.chars().any(char::is_control) {
        return Err(PlaceError::Malformed);
    }
    Ok(())
}

/// The URL of a repository that somebody else has named, written as a URL or as `user@host:path`.
///
/// # Errors
/// It is none that is safe to ask: another scheme than `http`, `https` and `ssh`, or a host that looks like an option.
pub fn parse_url(text: &str) -> Result<Url, PlaceError> {
    check_text(text)?;
    if text.starts_with('-') {
        return Err(PlaceError::Option);
    }
    let url = match short(text) {
        Some(long) => Url::parse(&long),
        None => Url::parse(text),
    };
    let url =
        url.map_err(|_| if text.contains("://") { PlaceError::Malformed } else { PlaceError::Scheme })?;
    match url.host_str() {
        _ if !SCHEMES.contains(&url.scheme()) => Err(PlaceError::Scheme),
        None | Some("") => Err(PlaceError::Malformed),
        Some(host) if host.starts_with('-') || url.username().starts_with('-') => Err(PlaceError::Option),
        Some(_) => Ok(url),
    }
}

/// As Git does it: `../` takes a component off the parent's URL.
fn relative(parent: &Url, text: &str) -> Result<Url, PlaceError> {
    let mut path: Vec<&str> = parent.path().split('/').filter(|part| !part.is_empty()).collect();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(path.pop().ok_or(PlaceError::Outside)?),
            part => path.push(part),
        }
    }
    let mut url = parent.clone();
    url.set_query(None);
    url.set_path(&path.join("/"));
    Ok(url)
}

/// The SSH URL that `user@host:path` is short for.
fn short(text: &str) -> Option<String> {
    let (place, path) = text.split_once(':')?;
    let is_short = !text.contains("://") && !place.contains('/') && !path.starts_with(':');
    is_short.then(|| format!("ssh://{place}/{}", path.trim_start_matches('/')))
}

#[cfg(test)]
mod tests;
