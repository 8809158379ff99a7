//! The choice among several credentials for an image, by the rules of the library that Flux uses, which are nearly those of
//! the kubelet (SRC-OCI-19).

use weir_ignore::Glob;

use crate::{DockerConfig, RegistryCredentials};

/// Names of Docker Hub in pull Secrets and images. A pattern that fits another one than the image's does not mean it.
const DOCKER_HUB: [&str; 3] = ["index.docker.io", "docker.io", "registry-1.docker.io"];

/// The credentials of several Secrets.
#[derive(Debug, Clone, Default)]
pub struct Keyring {
    entries: Vec<(Key, RegistryCredentials)>,
}

/// A registry as a Secret names it: host pattern, port, path prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    /// In lower case. Each label may hold `*`, which does not match a dot, and the rest of Go's patterns.
    host: String,
    port: Option<String>,
    path: String,
}

impl Keyring {
    /// Adds the credentials of one Secret. Of two with the same key the first added is tried first.
    pub fn add(&mut self, config: DockerConfig) {
        self.entries
            .extend(config.entries.into_iter().map(|(name, credentials)| (Key::parse(&name), credentials)));
        // So a longer path of the same host comes first. The sort is stable, so Secrets keep their order.
        self.entries.sort_by_cached_key(|(key, _)| std::cmp::Reverse(key.text()));
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
        let is_hub = DOCKER_HUB.contains(&host);
        let matching = self.entries.iter().filter(|(key, _)| {
            (key.host_matches(host) || is_hub && DOCKER_HUB.contains(&key.host.as_str()))
                && key.port.as_deref() == port
                && repository.starts_with(&key.path)
        });
        matching.map(|(_, credentials)| credentials.clone()).collect()
    }
}

impl Key {
    /// Reads `host`, `host:port/path`, `https://host/v1/` and the like; `/v1/` and `/v2/` mean the host itself. A path is the
    /// start of all that it is for, also in the middle of a name.
    fn parse(name: &str) -> Self {
        let name = name.trim_start_matches("https://").trim_start_matches("http://");
        let (place, path) = name.split_once('/').unwrap_or((name, ""));
        let (host, port) = split_port(place);
        let path = match path {
            "v1" | "v2" => "",
            path => path.strip_prefix("v1/").or_else(|| path.strip_prefix("v2/")).unwrap_or(path),
        };
        Self { host: host.to_lowercase(), port: port.map(str::to_owned), path: path.to_owned() }
    }

    /// The key as Flux sorts it.
    fn text(&self) -> String {
        let Self { host, port, path } = self;
        let port = port.as_ref().map_or(String::new(), |port| format!(":{port}"));
        if path.is_empty() { format!("{host}{port}") } else { format!("{host}{port}/{path}") }
    }

    fn host_matches(&self, host: &str) -> bool {
        let (own, other) = (self.host.split('.'), host.split('.'));
        own.clone().count() == other.clone().count()
            && own.zip(other).all(|(pattern, label)| Glob::parse(pattern).matches(&label.to_lowercase()))
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

#[cfg(test)]
mod tests;
