//! Revisions of sources: what was fetched, in the words of `status.artifact.revision` (SRC-TYP-5…7).

use std::fmt;

/// `<pointer>@<algorithm>:<hash>` or `<algorithm>:<hash>`: a branch, tag or name, and the content behind it. Chart
/// versions and other words without a hash are kept as they are.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Revision {
    text: String,
}

impl Revision {
    /// The revision of a commit or manifest `digest` (`sha1:…`, `sha256:…`) reached through `pointer`.
    #[must_use]
    pub fn new(pointer: Option<&str>, digest: &str) -> Self {
        match pointer {
            Some(pointer) => Self { text: format!("{pointer}@{digest}") },
            None => Self { text: digest.to_owned() },
        }
    }

    /// Reads a revision in any format that Flux has written: `main/<sha>` becomes `main@sha1:<sha>`, `HEAD/<sha>`
    /// and a bare hash become `sha1:<sha>`, 64 digits mean SHA-256; everything else stays as it is (SRC-TYP-7).
    #[must_use]
    pub fn normalise(text: &str) -> Self {
        if text.contains(':') {
            return Self { text: text.to_owned() };
        }
        let (pointer, hash) = match text.rsplit_once('/') {
            Some((pointer, hash)) => (Some(pointer).filter(|pointer| *pointer != "HEAD"), hash),
            None => (None, text),
        };
        match algorithm_of(hash) {
            Some(algorithm) => Self::new(pointer, &format!("{algorithm}:{hash}")),
            None => Self { text: text.to_owned() },
        }
    }

    /// The branch, tag or name in front of the `@`.
    #[must_use]
    pub fn pointer(&self) -> Option<&str> {
        self.text.rsplit_once('@').map(|(pointer, _)| pointer)
    }

    /// The part behind the `@`: `<algorithm>:<hash>`.
    #[must_use]
    pub fn digest(&self) -> &str {
        self.text.rsplit_once('@').map_or(self.text.as_str(), |(_, digest)| digest)
    }

    /// The hash without its algorithm.
    #[must_use]
    pub fn hash(&self) -> &str {
        self.digest().split_once(':').map_or(self.digest(), |(_, hash)| hash)
    }

    /// The whole text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Returns the algorithm of a hash by its length: 40 hex digits or 64 (SRC-TYP-6).
fn algorithm_of(hash: &str) -> Option<&'static str> {
    if !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    match hash.len() {
        40 => Some("sha1"),
        64 => Some("sha256"),
        _ => None,
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const SHA1: &str = "05770d51bf5487f95e421df60813d6c8bd5c4b63";
    const SHA256: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[rstest]
    #[case(format!("main/{SHA1}"), format!("main@sha1:{SHA1}"))]
    #[case(format!("feature/b/{SHA1}"), format!("feature/b@sha1:{SHA1}"))]
    #[case(format!("HEAD/{SHA1}"), format!("sha1:{SHA1}"))]
    #[case(format!("tag/{SHA256}"), format!("tag@sha256:{SHA256}"))]
    #[case(SHA1.to_owned(), format!("sha1:{SHA1}"))]
    #[case(format!("main@sha1:{SHA1}"), format!("main@sha1:{SHA1}"))]
    #[case("6.3.4".to_owned(), "6.3.4".to_owned())]
    #[case("main/feature".to_owned(), "main/feature".to_owned())]
    fn old_formats(#[case] old: String, #[case] new: String) {
        assert_eq!(Revision::normalise(&old).as_str(), new);
    }

    #[test]
    fn parts() {
        let revision = Revision::new(Some("user@feature/x"), &format!("sha1:{SHA1}"));
        assert_eq!(revision.pointer(), Some("user@feature/x"));
        assert_eq!(revision.digest(), format!("sha1:{SHA1}"));
        assert_eq!(revision.hash(), SHA1);
    }
}
