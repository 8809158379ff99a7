//! Names of repositories, with the rules and words of the library that Flux uses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

/// Scheme of `OCIRepository` URLs.
pub(crate) const SCHEME: &str = "oci://";
/// Registry of names without one.
const DOCKER_HUB: &str = "index.docker.io";
const CHARACTERS: &str = "abcdefghijklmnopqrstuvwxyz0123456789_-./";
const MIN_LENGTH: usize = 2;
const MAX_LENGTH: usize = 255;

/// A repository: registry and path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Repository {
    host: String,
    path: String,
}

/// Errors in a text that should name a repository.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RepositoryError {
    /// Not `oci://…` where that is required.
    #[error("URL must be in format 'oci://<domain>/<org>/<repo>'")]
    Format,
    /// No name at all.
    #[error("a repository name must be specified")]
    Empty,
    /// A path that is too short or too long.
    #[error("repository must be between {MIN_LENGTH} and {MAX_LENGTH} characters in length: {path}")]
    Length {
        /// The path.
        path: String,
    },
    /// A path with other characters; a tag or digest for example.
    #[error("repository can only contain the characters `{CHARACTERS}`: {path}")]
    Characters {
        /// The path.
        path: String,
    },
    /// A path with parts that URLs take for something else: the start of a host, or the way up.
    #[error("repository must not have empty parts, '.' or '..': {path}")]
    Parts {
        /// The path.
        path: String,
    },
    /// A registry that is no host.
    #[error("registries must be valid RFC 3986 URI authorities: {host}")]
    Host {
        /// The registry.
        host: String,
    },
}

impl Repository {
    /// Parses `oci://host[:port]/path`, as `OCIRepository` has it.
    ///
    /// # Errors
    /// When it has another scheme, or host or path cannot be used.
    pub fn from_url(url: &str) -> Result<Self, RepositoryError> {
        Self::parse(url.strip_prefix(SCHEME).ok_or(RepositoryError::Format)?)
    }

    /// Parses `[host[:port]/]path`, as images are named; without a registry it is Docker Hub's.
    ///
    /// # Errors
    /// When host or path cannot be used.
    pub fn parse(name: &str) -> Result<Self, RepositoryError> {
        if name.is_empty() {
            return Err(RepositoryError::Empty);
        }
        match name.split_once('/') {
            Some((first, rest)) if first.contains(['.', ':']) || first == "localhost" => {
                Self::new(first, rest)
            }
            _ => Self::new("", name),
        }
    }

    /// Parses `host[:port]/path`, as charts are named: the first part is the registry, also if it is a single word.
    ///
    /// # Errors
    /// When host or path cannot be used.
    pub fn at_host(name: &str) -> Result<Self, RepositoryError> {
        match name.split_once('/') {
            Some((host, path)) if !host.is_empty() => Self::new(host, path),
            _ => Err(RepositoryError::Host { host: String::new() }),
        }
    }

    fn new(host: &str, path: &str) -> Result<Self, RepositoryError> {
        if !(MIN_LENGTH..=MAX_LENGTH).contains(&path.chars().count()) {
            return Err(RepositoryError::Length { path: path.to_owned() });
        }
        if !path.chars().all(|character| CHARACTERS.contains(character)) {
            return Err(RepositoryError::Characters { path: path.to_owned() });
        }
        if path.trim_end_matches('/').split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(RepositoryError::Parts { path: path.to_owned() });
        }
        if !host.is_empty() && !is_host(host) {
            return Err(RepositoryError::Host { host: host.to_owned() });
        }
        let host = if matches!(host, "" | "docker.io") { DOCKER_HUB } else { host };
        let is_official = host == DOCKER_HUB && !path.contains('/');
        let path = if is_official { format!("library/{path}") } else { path.to_owned() };
        Ok(Self { host: host.to_owned(), path })
    }

    /// The registry, `host[:port]`.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The path in the registry. A slash at its end, which some write, is no part of the address.
    #[must_use]
    pub fn path(&self) -> &str {
        self.path.trim_end_matches('/')
    }

    /// Returns true when the registry is on this machine, where plain HTTP gives nothing away.
    pub(crate) fn is_loopback(&self) -> bool {
        let address = self.host_name().parse::<IpAddr>();
        self.host_name() == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }

    /// Returns true when the registry has an address or a name of private networks, where it may speak plain HTTP only (IR-7).
    pub(crate) fn is_private(&self) -> bool {
        let address = self.host_name().parse::<Ipv4Addr>();
        let is_named = [".local", ".localhost"].iter().any(|domain| self.host_name().ends_with(domain));
        is_named || address.is_ok_and(|address| address.is_private())
    }

    fn host_name(&self) -> &str {
        let host = self.host.rsplit_once(':').map_or(self.host.as_str(), |(host, _)| host);
        host.trim_matches(['[', ']'])
    }
}

/// Returns true when a URL with this text behind its scheme leads to this very host.
fn is_host(host: &str) -> bool {
    let Ok(url) = url::Url::parse(&format!("https://{host}")) else { return false };
    let has_user_info = !url.username().is_empty() || url.password().is_some();
    let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none() && !has_user_info;
    // URLs leave out tabs and line ends wherever they stand.
    is_bare && !host.contains(|character: char| character.is_ascii_control())
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.host, self.path)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("ghcr.io/org/app", "ghcr.io", "org/app")]
    #[case("localhost/app", "localhost", "app")]
    #[case("127.0.0.1:5000/a/b", "127.0.0.1:5000", "a/b")]
    #[case("alpine", "index.docker.io", "library/alpine")]
    #[case("docker.io/org/app", "index.docker.io", "org/app")]
    #[case("org/app", "index.docker.io", "org/app")]
    #[case("ghcr.io/org/app/", "ghcr.io", "org/app")]
    fn names(#[case] name: &str, #[case] host: &str, #[case] path: &str) {
        let repository = Repository::parse(name).unwrap();
        assert_eq!((repository.host(), repository.path()), (host, path));
    }

    /// SRC-CHT-6: the registry of a chart may be a name of the network's own, and is not Docker Hub then.
    #[rstest]
    #[case("registry/charts/app", "registry", "charts/app")]
    #[case("ghcr.io/charts/app", "ghcr.io", "charts/app")]
    #[case("docker.io/charts/app", "index.docker.io", "charts/app")]
    fn names_that_begin_with_a_host(#[case] name: &str, #[case] host: &str, #[case] path: &str) {
        let repository = Repository::at_host(name).unwrap();
        assert_eq!((repository.host(), repository.path()), (host, path));
        assert!(Repository::at_host("app").is_err() && Repository::at_host("/app").is_err());
    }

    #[rstest]
    #[case("127.0.0.1:5000/app", false)]
    #[case("10.96.0.12:5000/app", true)]
    #[case("172.31.255.1:5000/app", true)]
    #[case("192.168.1.2/app", true)]
    #[case("registry.flux-system.svc.cluster.local:5000/app", true)]
    #[case("k3d-registry.localhost:5000/app", true)]
    #[case("registry.localhost/app", true)]
    #[case("172.32.0.1:5000/app", false)]
    #[case("8.8.8.8:5000/app", false)]
    #[case("registry.locale/app", false)]
    #[case("ghcr.io/org/app", false)]
    fn private_networks(#[case] name: &str, #[case] is_private: bool) {
        assert_eq!(Repository::parse(name).unwrap().is_private(), is_private);
    }

    #[rstest]
    #[case("https://h/r", "URL must be in format 'oci://<domain>/<org>/<repo>'")]
    #[case("oci://", "a repository name must be specified")]
    #[case("oci://h.io/é", "repository must be between 2 and 255 characters in length: é")]
    #[case("oci://h.io/", "repository must be between 2 and 255 characters in length: ")]
    #[case(
        "oci://h.io/a/b:v1",
        "repository can only contain the characters `abcdefghijklmnopqrstuvwxyz0123456789_-./`: a/b:v1"
    )]
    #[case(
        "oci://h.io:80",
        "repository can only contain the characters `abcdefghijklmnopqrstuvwxyz0123456789_-./`: h.io:80"
    )]
    #[case("oci://h.io///evil.com/x", "repository must not have empty parts, '.' or '..': //evil.com/x")]
    #[case("oci://h.io/a/../b", "repository must not have empty parts, '.' or '..': a/../b")]
    #[case("oci://h.io/a/./b", "repository must not have empty parts, '.' or '..': a/./b")]
    #[case("oci://h.io?x/aa", "registries must be valid RFC 3986 URI authorities: h.io?x")]
    #[case("oci://:p@h.io/aa", "registries must be valid RFC 3986 URI authorities: :p@h.io")]
    #[case("oci://h.i\to/aa", "registries must be valid RFC 3986 URI authorities: h.i\to")]
    #[case("oci://h io:x/aa", "registries must be valid RFC 3986 URI authorities: h io:x")]
    fn refused(#[case] url: &str, #[case] message: &str) {
        assert_eq!(Repository::from_url(url).unwrap_err().to_string(), message);
    }
}
