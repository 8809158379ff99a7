//! Names of artifacts: a repository with a tag or a digest, with the rules and words of the library that Flux uses.

use std::fmt;

use weir_artifact::{Algorithm, Digest};

use crate::repository::{Repository, SCHEME};

/// Tag of references that name none.
const LATEST: &str = "latest";
/// Longest tag, as the distribution specification has it.
const MAX_TAG: usize = 128;
pub(crate) const TAG_CHARACTERS: &str = "abcdefghijklmnopqrstuvwxyz0123456789_-.ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// A tag or a digest in a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    repository: Repository,
    target: Target,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    Tag(String),
    Digest(Digest),
}

/// Errors in a text that should name an artifact.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// Not `oci://…`.
    #[error("URL must be in format 'oci://<domain>/<org>/<repo>'")]
    Format,
    /// Neither a tag nor a digest of a repository.
    #[error("'{url}' invalid URL: could not parse reference: {name}")]
    Name {
        /// The text.
        url: String,
        /// The text without its scheme.
        name: String,
    },
}

impl Reference {
    /// Parses `oci://host[:port]/path[:tag|@digest]`.
    ///
    /// # Errors
    /// When it has another scheme, or a part of it cannot be used.
    pub fn from_url(url: &str) -> Result<Self, ReferenceError> {
        let name = url.strip_prefix(SCHEME).ok_or(ReferenceError::Format)?;
        Self::parse(name).ok_or_else(|| ReferenceError::Name { url: url.to_owned(), name: name.to_owned() })
    }

    fn parse(name: &str) -> Option<Self> {
        if let Some((repository, digest)) = name.split_once('@') {
            let digest = Digest::parse(digest).ok().filter(|it| it.algorithm() == Algorithm::Sha256)?;
            // A tag beside a digest is for people.
            let repository = split_tag(repository).0;
            let repository = Repository::parse(repository).ok()?;
            return Some(Self { repository, target: Target::Digest(digest) });
        }
        let (repository, tag) = split_tag(name);
        let tag = tag.unwrap_or(LATEST);
        let repository = Repository::parse(repository).ok().filter(|_| is_tag(tag))?;
        Some(Self { repository, target: Target::Tag(tag.to_owned()) })
    }

    /// The repository.
    #[must_use]
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// The tag; nothing for a reference by digest.
    #[must_use]
    pub fn tag(&self) -> Option<&str> {
        match &self.target {
            Target::Tag(tag) => Some(tag),
            Target::Digest(_) => None,
        }
    }

    /// The digest; nothing for a reference by tag.
    #[must_use]
    pub fn digest(&self) -> Option<&Digest> {
        match &self.target {
            Target::Tag(_) => None,
            Target::Digest(digest) => Some(digest),
        }
    }

    /// The tag or the digest.
    #[must_use]
    pub fn target(&self) -> String {
        match &self.target {
            Target::Tag(tag) => tag.clone(),
            Target::Digest(digest) => digest.to_string(),
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.tag().is_some() { ':' } else { '@' };
        write!(f, "{}{separator}{}", self.repository, self.target())
    }
}

/// Returns true when a text is a tag. The path `manifests/..` would be another one.
#[must_use]
pub fn is_tag(text: &str) -> bool {
    (1..=MAX_TAG).contains(&text.len())
        && text.chars().all(|character| TAG_CHARACTERS.contains(character))
        && !matches!(text, "." | "..")
}

/// Splits a name at the colon before its tag; the colon before a port is followed by a slash somewhere.
fn split_tag(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => (repository, Some(tag)),
        _ => (name, None),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[rstest]
    #[case("oci://localhost:5000/app", "localhost:5000/app:latest")]
    #[case("oci://localhost:5000/org/app:v1.0.0", "localhost:5000/org/app:v1.0.0")]
    #[case("oci://nginx", "index.docker.io/library/nginx:latest")]
    #[case("oci://docker.io/org/app:V1", "index.docker.io/org/app:V1")]
    fn tags(#[case] url: &str, #[case] expected: &str) {
        assert_eq!(Reference::from_url(url).unwrap().to_string(), expected);
    }

    #[test]
    fn digests() {
        let reference = Reference::from_url(&format!("oci://ghcr.io/org/app:v1@{DIGEST}")).unwrap();
        assert_eq!(reference.tag(), None);
        assert_eq!(reference.to_string(), format!("ghcr.io/org/app@{DIGEST}"));
    }

    #[rstest]
    #[case("ghcr.io/org/app:v1", "URL must be in format 'oci://<domain>/<org>/<repo>'")]
    #[case("oci://ghcr.io/a@b", "'oci://ghcr.io/a@b' invalid URL: could not parse reference: ghcr.io/a@b")]
    #[case("oci://h:1/app:a:b", "'oci://h:1/app:a:b' invalid URL: could not parse reference: h:1/app:a:b")]
    #[case("oci://h:1/App:v1", "'oci://h:1/App:v1' invalid URL: could not parse reference: h:1/App:v1")]
    fn errors(#[case] url: &str, #[case] expected: &str) {
        assert_eq!(Reference::from_url(url).unwrap_err().to_string(), expected);
    }
}
