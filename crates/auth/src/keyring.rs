//! Which of several credentials belong to an image, by the rules of the kubelet (SRC-OCI-19).

use crate::{DockerConfig, RegistryCredentials};

/// How pull Secrets and images call Docker Hub.
const DOCKER_HUB: [&str; 3] = ["index.docker.io", "docker.io", "registry-1.docker.io"];
const DEFAULT_HTTPS_PORT: &str = "443";

/// The credentials of several Secrets.
#[derive(Debug, Clone, Default)]
pub struct Keyring {
    entries: Vec<(Key, RegistryCredentials)>,
}

/// A registry as a Secret names it: host pattern, port, path prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    host: String,
    port: Option<String>,
    path: String,
}

impl Keyring {
    /// Adds the credentials of one Secret. Of two with the same key the first added is tried first.
    pub fn add(&mut self, config: DockerConfig) {
        self.entries
            .extend(config.entries.into_iter().map(|(name, credentials)| (Key::parse(&name), credentials)));
        // A longer path is the better match; the sort is stable, so Secrets keep their order.
        self.entries.sort_by_key(|(key, _)| std::cmp::Reverse(key.path.len()));
    }

    /// Returns true when there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The credentials for a repository, best match first: `registry` is `host[:port]`, `repository` the path.
    #[must_use]
    pub fn lookup(&self, registry: &str, repository: &str) -> Vec<RegistryCredentials> {
        let (host, port) = split_port(registry);
        let hosts: &[&str] = if DOCKER_HUB.contains(&host) { &DOCKER_HUB } else { &[host] };
        let matching = self.entries.iter().filter(|(key, _)| {
            hosts.iter().any(|host| key.host_matches(host))
                && key.port_matches(port)
                && key.path_matches(repository)
        });
        matching.map(|(_, credentials)| credentials.clone()).collect()
    }
}

impl Key {
    /// Reads `host`, `host:port/path`, `https://host/v1/` and the like; `/v1/` and `/v2/` mean the host itself.
    fn parse(name: &str) -> Self {
        let name = name.trim_start_matches("https://").trim_start_matches("http://");
        let (place, path) = name.split_once('/').unwrap_or((name, ""));
        let (host, port) = split_port(place);
        let path = match path {
            "v1" | "v2" => "",
            path => path.strip_prefix("v1/").or_else(|| path.strip_prefix("v2/")).unwrap_or(path),
        };
        Self {
            host: host.to_lowercase(),
            port: port.map(str::to_owned),
            path: path.trim_end_matches('/').to_owned(),
        }
    }

    /// Each label of the host may hold `*` and `?`; a star does not match a dot.
    fn host_matches(&self, host: &str) -> bool {
        let (own, other) = (self.host.split('.'), host.split('.'));
        own.clone().count() == other.clone().count()
            && own.zip(other).all(|(pattern, label)| label_matches(pattern, &label.to_lowercase()))
    }

    fn port_matches(&self, port: Option<&str>) -> bool {
        let default = |port: Option<&str>| port.unwrap_or(DEFAULT_HTTPS_PORT).to_owned();
        default(self.port.as_deref()) == default(port)
    }

    fn path_matches(&self, repository: &str) -> bool {
        repository
            .strip_prefix(&self.path)
            .is_some_and(|rest| rest.is_empty() || self.path.is_empty() || rest.starts_with('/'))
    }
}

fn split_port(place: &str) -> (&str, Option<&str>) {
    match place.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit()) => {
            (host, Some(port))
        }
        _ => (place, None),
    }
}

fn label_matches(pattern: &str, label: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else {
        return pattern.len() == label.len()
            && pattern
                .chars()
                .zip(label.chars())
                .all(|(pattern, character)| pattern == '?' || pattern == character);
    };
    let starts = label.get(..before.len()).is_some_and(|start| label_matches(before, start));
    let rest = label.get(before.len()..).unwrap_or_default();
    let mut tails = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    starts && tails.any(|at| label_matches(after, rest.get(at..).unwrap_or_default()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
