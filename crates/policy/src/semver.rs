//! Versions and ranges as Masterminds/semver v3 (which Flux uses) understands them, which is not what
//! Cargo understands: see IP-7, IP-8 and DEP 9.
//!
//! The range grammar is Masterminds' own set of regular expressions, kept as they are: what they accept by
//! accident is accepted here too, and manifests depend on it.

mod constraint;
mod version;

pub use constraint::{Constraint, MAX_CONSTRAINT_GROUPS, MAX_CONSTRAINT_LEN};
pub use version::{MAX_VERSION_LEN, Version};

/// Errors in reading a version or a range. The texts are Masterminds' and appear in conditions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SemverError {
    /// The text is not a version, not even a sloppy one.
    #[error("invalid semantic version")]
    InvalidVersion,
    /// A version component does not fit 64 bits.
    #[error("error parsing version segment: value out of range: {segment:?}")]
    SegmentOutOfRange {
        /// The digits as written.
        segment: String,
    },
    /// A numeric pre-release identifier starts with a zero.
    #[error("version segment starts with 0")]
    SegmentStartsZero,
    /// The version is longer than [`MAX_VERSION_LEN`].
    #[error("version string is too long (max {MAX_VERSION_LEN} bytes)")]
    VersionTooLong,
    /// One alternative of the range does not follow the grammar.
    #[error("improper constraint: {segment:?}")]
    ImproperConstraint {
        /// The alternative, after hyphen ranges were rewritten.
        segment: String,
    },
    /// A term follows the grammar but names no version, such as `x1`.
    #[error("constraint parser error")]
    ConstraintParser,
    /// The range is longer than [`MAX_CONSTRAINT_LEN`].
    #[error("constraint string is too long (max {MAX_CONSTRAINT_LEN} bytes)")]
    ConstraintTooLong,
    /// The range has more than [`MAX_CONSTRAINT_GROUPS`] alternatives.
    #[error("too many constraint groups (max {MAX_CONSTRAINT_GROUPS})")]
    TooManyGroups,
}

/// Returns the tag with the highest version inside the range, as it was written; the first of equals wins.
///
/// Tags that are not versions of three parts are passed over (IP-7).
pub fn latest<'a>(constraint: &Constraint, tags: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut best: Option<(Version, &str)> = None;
    for tag in tags {
        let Ok(version) = Version::parse_tag(tag) else { continue };
        if constraint.matches(&version) && best.as_ref().is_none_or(|(top, _)| version > *top) {
            best = Some((version, tag));
        }
    }
    best.map(|(_, tag)| tag)
}

#[cfg(test)]
mod tests;
