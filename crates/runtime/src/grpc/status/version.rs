//! The place of a client in the stream, as text that it hands back: positions count in the process that gave them only.

use std::fmt;
use std::str::FromStr;

use tonic::Status;

use crate::cache::ObjectKey;

/// A position in the journal of one process: another process, a restarted one included, takes it for what it is, unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// Drawn at random by the process.
    pub epoch: u64,
    /// Number of the change.
    pub position: u64,
}

/// Reasons to refuse a version or a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a version of this service")]
pub struct NotAVersion;

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{}", self.epoch, self.position)
    }
}

impl FromStr for Version {
    type Err = NotAVersion;

    fn from_str(text: &str) -> Result<Self, NotAVersion> {
        let (epoch, position) = text.split_once('-').ok_or(NotAVersion)?;
        let epoch = u64::from_str_radix(epoch, 16).map_err(|_| NotAVersion)?;
        let position = position.parse().map_err(|_| NotAVersion)?;
        Ok(Self { epoch, position })
    }
}

/// The begin of the next page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageToken {
    /// The begin of the list.
    pub version: Version,
    /// Last object of the page before.
    pub after: ObjectKey,
}

impl fmt::Display for PageToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.version, self.after)
    }
}

impl FromStr for PageToken {
    type Err = NotAVersion;

    fn from_str(text: &str) -> Result<Self, NotAVersion> {
        let (version, after) = text.split_once('/').ok_or(NotAVersion)?;
        let (namespace, name) = after.split_once('/').ok_or(NotAVersion)?;
        Ok(Self { version: version.parse()?, after: ObjectKey::new(namespace, name) })
    }
}

/// The answer to who comes with a version that is too old, of another process, or none.
pub(super) fn out_of_range() -> Status {
    Status::out_of_range("changes since that version are not known: begin anew without it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_tokens_come_back_as_they_went() {
        let version = Version { epoch: 0xab, position: 7 };
        assert_eq!(version.to_string().parse(), Ok(version));
        let token = PageToken { version, after: ObjectKey::new("apps", "a.b-c") };
        assert_eq!(token.to_string(), "00000000000000ab-7/apps/a.b-c");
        assert_eq!(token.to_string().parse(), Ok(token));
    }

    /// The third is what clients of 0.1 hand back, a version of Kubernetes.
    #[rstest::rstest]
    #[case("")]
    #[case("-")]
    #[case("123456")]
    #[case("ab-")]
    #[case("xy-7")]
    #[case("ab-7/apps")]
    fn all_else_is_refused(#[case] text: &str) {
        assert_eq!(text.parse::<Version>(), Err(NotAVersion));
        assert_eq!(text.parse::<PageToken>(), Err(NotAVersion));
    }
}
