//! Lenient versions with semantic precedence.

use std::{cmp::Ordering, fmt, str::FromStr};

use super::SemverError;

/// Longest version text read; Masterminds has the same bound.
pub const MAX_VERSION_LEN: usize = 256;

/// A version without its build metadata, which takes no part in precedence.
///
/// Equality and order are semantic precedence, so `1.0.0+a` and `1.0.0+b` are the same version; callers that
/// publish a tag keep the text beside it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The first number.
    pub major: u64,
    /// The second number; 0 when absent.
    pub minor: u64,
    /// The third number; 0 when absent.
    pub patch: u64,
    /// Part behind the hyphen; empty for a release.
    pub pre: Prerelease,
}

/// The dot-separated identifiers after the hyphen; empty means a release, which is above all its pre-releases.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Prerelease(String);

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
        if numbers.len() > 3 || !metadata.is_none_or(are_identifiers) {
            return Err(SemverError::InvalidVersion);
        }
        let at = |index: usize| numbers.get(index).copied().unwrap_or_default();
        Ok(Self {
            major: at(0),
            minor: at(1),
            patch: at(2),
            pre: pre.map_or(Ok(Prerelease::default()), Prerelease::parse)?,
        })
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
    pub fn is_prerelease(&self) -> bool {
        !self.pre.is_empty()
    }
}

impl FromStr for Version {
    type Err = SemverError;

    fn from_str(text: &str) -> Result<Self, SemverError> {
        Self::parse(text)
    }
}

impl Prerelease {
    /// Reads the text after the hyphen.
    ///
    /// # Errors
    /// [`SemverError::InvalidVersion`] or [`SemverError::SegmentStartsZero`].
    fn parse(text: &str) -> Result<Self, SemverError> {
        if !are_identifiers(text) {
            return Err(SemverError::InvalidVersion);
        }
        let is_zero_led = |part: &str| part.len() > 1 && part.starts_with('0') && is_digits(part);
        if text.split('.').any(is_zero_led) {
            return Err(SemverError::SegmentStartsZero);
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns true when there is none, which makes the version a release.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Prerelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Ord for Prerelease {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.is_empty(), other.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => {
                self.0.split('.').map(Identifier::of).cmp(other.0.split('.').map(Identifier::of))
            }
        }
    }
}

impl PartialOrd for Prerelease {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Numbers stand below words; a number beyond 64 bits counts as a word, as it does in Masterminds.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Identifier<'a> {
    Number(u64),
    Word(&'a str),
}

impl<'a> Identifier<'a> {
    fn of(part: &'a str) -> Self {
        part.parse().map_or(Self::Word(part), Self::Number)
    }
}

fn split_once_or(text: &str, separator: char) -> (&str, Option<&str>) {
    text.split_once(separator).map_or((text, None), |(before, after)| (before, Some(after)))
}

fn number(text: &str) -> Result<u64, SemverError> {
    if !is_digits(text) {
        return Err(SemverError::InvalidVersion);
    }
    text.parse().map_err(|_| SemverError::SegmentOutOfRange { segment: text.to_owned() })
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn are_identifiers(text: &str) -> bool {
    text.split('.')
        .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'))
}
