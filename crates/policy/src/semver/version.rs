//! Lenient versions with semantic precedence.

use std::{ops::Deref, str::FromStr};

use semver::{BuildMetadata, Prerelease};

use super::SemverError;

/// Longest version text read; Masterminds has the same bound.
pub const MAX_VERSION_LEN: usize = 256;

/// A version without its build metadata, which takes no part in precedence.
///
/// Equality and order are semantic precedence, so `1.0.0+a` and `1.0.0+b` are the same version; callers that
/// publish a tag keep the text beside it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(semver::Version);

impl Version {
    /// Reads a version leniently: optional `v`, one to three numbers, leading zeros allowed.
    ///
    /// # Errors
    /// Any of the version variants of [`SemverError`].
    pub fn parse(text: &str) -> Result<Self, SemverError> {
        if text.len() > MAX_VERSION_LEN {
            return Err(SemverError::VersionTooLong);
        }
        let rest = text.strip_prefix('v').unwrap_or(text);
        let (rest, metadata) = split_once_or(rest, '+');
        let (numbers, pre) = split_once_or(rest, '-');
        let numbers: Vec<u64> = numbers.split('.').map(number).collect::<Result<_, _>>()?;
        if numbers.len() > 3 {
            return Err(SemverError::InvalidVersion);
        }
        metadata.map_or(Ok(()), check_identifiers)?;
        let at = |index: usize| numbers.get(index).copied().unwrap_or_default();
        let mut version = semver::Version::new(at(0), at(1), at(2));
        version.pre = pre.map_or(Ok(Prerelease::EMPTY), prerelease)?;
        Ok(Self(version))
    }

    /// Reads a tag of a repository: as [`Version::parse`], but only texts with two dots or more are versions,
    /// so that `7` and `1.2` stay moving tags (IP-7).
    ///
    /// # Errors
    /// As [`Version::parse`].
    pub fn parse_tag(tag: &str) -> Result<Self, SemverError> {
        if tag.bytes().filter(|byte| *byte == b'.').count() < 2 {
            return Err(SemverError::InvalidVersion);
        }
        Self::parse(tag)
    }

    /// Returns true when this is a pre-release.
    pub(super) fn is_prerelease(&self) -> bool {
        !self.pre.is_empty()
    }
}

impl Deref for Version {
    type Target = semver::Version;

    fn deref(&self) -> &semver::Version {
        &self.0
    }
}

impl FromStr for Version {
    type Err = SemverError;

    fn from_str(text: &str) -> Result<Self, SemverError> {
        Self::parse(text)
    }
}

fn prerelease(text: &str) -> Result<Prerelease, SemverError> {
    check_identifiers(text)?;
    Prerelease::new(text).map_err(|_| SemverError::SegmentStartsZero)
}

/// Pre-releases and build metadata are written alike, but that numbers of a pre-release have no zeros in front.
fn check_identifiers(text: &str) -> Result<(), SemverError> {
    match BuildMetadata::new(text) {
        Ok(found) if !found.is_empty() => Ok(()),
        _ => Err(SemverError::InvalidVersion),
    }
}

fn split_once_or(text: &str, separator: char) -> (&str, Option<&str>) {
    text.split_once(separator).map_or((text, None), |(before, after)| (before, Some(after)))
}

fn number(text: &str) -> Result<u64, SemverError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(SemverError::InvalidVersion);
    }
    text.parse().map_err(|_| SemverError::SegmentOutOfRange { segment: text.to_owned() })
}
