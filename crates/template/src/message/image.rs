//! The parts of image references.

use weir_setters::Image;

/// The registry of names that have none.
const DEFAULT_REGISTRY: &str = "index.docker.io";

/// An image reference with Docker Hub's defaults (IR-6).
pub(super) struct Reference<'i> {
    /// The whole name, with the digest if there is one and the tag otherwise.
    pub(super) name: String,
    pub(super) registry: &'i str,
    pub(super) repository: String,
    /// The digest if there is one, and the tag otherwise.
    pub(super) identifier: &'i str,
}

impl<'i> Reference<'i> {
    pub(super) fn of(image: &'i Image) -> Self {
        let (registry, repository) = split(&image.name);
        let (identifier, separator) = image.digest.as_ref().map_or((&image.tag, ':'), |digest| (digest, '@'));
        let name = format!("{registry}/{repository}{separator}{identifier}");
        Self { name, registry, repository, identifier }
    }
}

fn split(name: &str) -> (&str, String) {
    match name.split_once('/') {
        Some(("docker.io" | DEFAULT_REGISTRY, rest)) => (DEFAULT_REGISTRY, hub_repository(rest)),
        Some((host, rest)) if host == "localhost" || host.contains(['.', ':']) => (host, rest.to_owned()),
        _ => (DEFAULT_REGISTRY, hub_repository(name)),
    }
}

fn hub_repository(path: &str) -> String {
    if path.contains('/') { path.to_owned() } else { format!("library/{path}") }
}
