//! A policy and its choice among tags (IP-2, IP-9, IP-10, IP-11).

use crate::{
    filter::{FilterError, TagFilter},
    numerical::Decimal,
    semver::{self, Constraint, SemverError},
};

/// The end of an order that is the latest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The greatest is the latest.
    #[default]
    Ascending,
    /// The smallest is the latest.
    Descending,
}

impl Order {
    /// Reads the API's text; anything but `desc` is ascending, as the API server lets nothing else in.
    pub fn parse(text: &str) -> Self {
        if text.eq_ignore_ascii_case("desc") { Self::Descending } else { Self::Ascending }
    }
}

/// The order of tags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Policy {
    /// By semantic version inside a range.
    Semver(Constraint),
    /// By bytes.
    Alphabetical(Order),
    /// By value; every candidate must be a number.
    Numerical(Order),
}

/// Errors that leave a policy without a choice. The texts are Flux's and appear in conditions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The range does not parse.
    #[error(transparent)]
    Range(#[from] SemverError),
    /// The filter does not compile.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// Nothing is left to choose from.
    #[error("version list argument cannot be empty")]
    NoCandidates,
    /// No candidate lies in the range.
    #[error("unable to determine latest version from provided list")]
    NoneInRange,
    /// A candidate of a numerical policy is no number.
    #[error("failed to parse invalid numeric value '{value}'")]
    NotANumber {
        /// The candidate.
        value: String,
    },
}

impl Policy {
    /// Makes a semver policy.
    ///
    /// # Errors
    /// [`PolicyError::Range`].
    pub fn semver(range: &str) -> Result<Self, PolicyError> {
        Ok(Self::Semver(Constraint::parse(range)?))
    }

    /// Returns the latest of the candidates, which are taken in descending order of bytes: semver keeps the
    /// first of equals (`v1.2.3` before `1.2.3`), numerical the last.
    ///
    /// # Errors
    /// [`PolicyError::NoCandidates`], [`PolicyError::NoneInRange`] or [`PolicyError::NotANumber`].
    pub fn latest<'a>(&self, candidates: &[&'a str]) -> Result<&'a str, PolicyError> {
        let mut sorted = candidates.to_vec();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else {
            return Err(PolicyError::NoCandidates);
        };
        match self {
            Self::Semver(range) => semver::latest(range, sorted).ok_or(PolicyError::NoneInRange),
            Self::Alphabetical(Order::Ascending) => Ok(first),
            Self::Alphabetical(Order::Descending) => Ok(last),
            Self::Numerical(order) => latest_number(*order, &sorted),
        }
    }
}

fn latest_number<'a>(order: Order, candidates: &[&'a str]) -> Result<&'a str, PolicyError> {
    let mut best: Option<(Decimal, &str)> = None;
    for candidate in candidates {
        let not_a_number = || PolicyError::NotANumber { value: (*candidate).to_owned() };
        let number = Decimal::parse(candidate).ok_or_else(not_a_number)?;
        let is_latest = best.as_ref().is_none_or(|(top, _)| match order {
            Order::Ascending => number >= *top,
            Order::Descending => number <= *top,
        });
        if is_latest {
            best = Some((number, candidate));
        }
    }
    best.map(|(_, candidate)| candidate).ok_or(PolicyError::NoCandidates)
}

/// Filters the tags, ranks what is left and returns the chosen tag as the registry has it.
///
/// # Errors
/// As [`Policy::latest`].
pub fn select<'a>(
    policy: &Policy,
    filter: Option<&TagFilter>,
    tags: impl IntoIterator<Item = &'a str>,
) -> Result<&'a str, PolicyError> {
    match filter {
        None => policy.latest(&tags.into_iter().collect::<Vec<_>>()),
        Some(filter) => {
            let originals = filter.apply(tags);
            let candidates: Vec<&str> = originals.keys().map(String::as_str).collect();
            let chosen = policy.latest(&candidates)?;
            originals.get(chosen).copied().ok_or(PolicyError::NoCandidates)
        }
    }
}

#[cfg(test)]
mod tests;
