//! Version ranges: terms joined by AND (space or comma) in groups joined by OR (`||`).

use std::{str::FromStr, sync::LazyLock};

use regex::Regex;

use super::{SemverError, Version};

/// Longest range read, in bytes; Masterminds has the same bound.
pub const MAX_CONSTRAINT_LEN: usize = 512;

/// Most alternatives (`||`) in one range; Masterminds has the same bound.
pub const MAX_CONSTRAINT_GROUPS: usize = 32;

/// A version with wildcards. The stray `|` in the classes is Masterminds' and harmless: such a text is no version.
const LOOSE_VERSION: &str = r"v?([0-9|x|X|\*]+)(\.[0-9|x|X|\*]+)?(\.[0-9|x|X|\*]+)?(-([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?(\+([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?";

/// The operators; the empty one in second place means "equal, or tilde if parts are missing".
const OPERATORS: &str = r"=||!=|>|<|>=|=>|<=|=<|~|~>|\^";

static TERM: LazyLock<Regex> =
    LazyLock::new(|| grammar(&format!(r"^\s*({OPERATORS})\s*({LOOSE_VERSION})\s*$")));
static TERMS: LazyLock<Regex> = LazyLock::new(|| grammar(&format!(r"({OPERATORS})\s*({LOOSE_VERSION})")));
static HYPHEN_RANGE: LazyLock<Regex> =
    LazyLock::new(|| grammar(&format!(r"\s*({LOOSE_VERSION})\s+-\s+({LOOSE_VERSION})\s*")));
static GROUP: LazyLock<Regex> = LazyLock::new(|| {
    grammar(&format!(
        r"^(\s*({OPERATORS})\s*({LOOSE_VERSION})\s*)((?:\s+|,\s*)({OPERATORS})\s*({LOOSE_VERSION})\s*)*$"
    ))
});

/// A parsed range.
///
/// A pre-release satisfies a group only if some term of that group names a pre-release (IP-8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constraint {
    groups: Vec<Group>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    terms: Vec<Term>,
    admits_prereleases: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    operator: Operator,
    bound: Version,
    wildcard: Wildcard,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Greater,
    Less,
    GreaterEqual,
    LessEqual,
    Tilde,
    Caret,
}

/// The first part of a bound that is a wildcard or missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wildcard {
    None,
    Patch,
    Minor,
    Major,
}

impl Constraint {
    /// Reads a range.
    ///
    /// # Errors
    /// Any of the constraint variants of [`SemverError`]; the empty text is an improper constraint.
    pub fn parse(text: &str) -> Result<Self, SemverError> {
        if text.len() > MAX_CONSTRAINT_LEN {
            return Err(SemverError::ConstraintTooLong);
        }
        // Group 11 is the second version: the first is group 1 and has nine groups inside it.
        let text = HYPHEN_RANGE.replace_all(text, ">= $1, <= $11 ");
        let groups = text.split("||").collect::<Vec<_>>();
        if groups.len() > MAX_CONSTRAINT_GROUPS {
            return Err(SemverError::TooManyGroups);
        }
        Ok(Self { groups: groups.into_iter().map(Group::parse).collect::<Result<_, _>>()? })
    }

    /// Returns true when the version lies in the range.
    pub fn matches(&self, version: &Version) -> bool {
        self.groups.iter().any(|group| group.matches(version))
    }
}

impl FromStr for Constraint {
    type Err = SemverError;

    fn from_str(text: &str) -> Result<Self, SemverError> {
        Self::parse(text)
    }
}

impl Group {
    fn parse(text: &str) -> Result<Self, SemverError> {
        if !GROUP.is_match(text) {
            return Err(SemverError::ImproperConstraint { segment: text.to_owned() });
        }
        let terms =
            TERMS.find_iter(text).map(|found| Term::parse(found.as_str())).collect::<Result<Vec<_>, _>>()?;
        let admits_prereleases = terms.iter().any(|term| term.bound.is_prerelease());
        Ok(Self { terms, admits_prereleases })
    }

    fn matches(&self, version: &Version) -> bool {
        (self.admits_prereleases || !version.is_prerelease())
            && self.terms.iter().all(|term| term.matches(version))
    }
}

impl Term {
    fn parse(text: &str) -> Result<Self, SemverError> {
        let improper = || SemverError::ImproperConstraint { segment: text.to_owned() };
        let parts = TERM.captures(text).ok_or_else(improper)?;
        let part = |index: usize| parts.get(index).map_or("", |found| found.as_str());
        let (major, minor, patch, pre) = (part(3), part(4), part(5), part(6));
        let (bound, wildcard) = if is_wildcard(major) {
            (format!("0.0.0{pre}"), Wildcard::Major)
        } else if is_wildcard(minor) {
            (format!("{major}.0.0{pre}"), Wildcard::Minor)
        } else if is_wildcard(patch) {
            (format!("{major}{minor}.0{pre}"), Wildcard::Patch)
        } else {
            (part(2).to_owned(), Wildcard::None)
        };
        let bound = Version::parse(&bound).map_err(|_| SemverError::ConstraintParser)?;
        Ok(Self { operator: Operator::parse(part(1)), bound, wildcard })
    }

    fn matches(&self, version: &Version) -> bool {
        match self.operator {
            Operator::Equal if self.wildcard == Wildcard::None => *version == self.bound,
            Operator::Equal | Operator::Tilde => self.is_tilde(version),
            Operator::NotEqual => self.is_not_equal(version),
            Operator::Greater => self.is_greater(version),
            Operator::Less => *version < self.bound,
            Operator::GreaterEqual => *version >= self.bound,
            Operator::LessEqual => self.is_less_equal(version),
            Operator::Caret => self.is_caret(version),
        }
    }

    /// `~1.2.3` is `>=1.2.3 <1.3.0`, `~1` is `>=1.0.0 <2.0.0`, `~*` and `~0.0.0` are everything.
    fn is_tilde(&self, version: &Version) -> bool {
        let bound = &self.bound;
        if version < bound {
            return false;
        }
        let is_everything = (bound.major, bound.minor, bound.patch) == (0, 0, 0)
            && !matches!(self.wildcard, Wildcard::Minor | Wildcard::Patch);
        is_everything
            || version.major == bound.major
                && (version.minor == bound.minor || self.wildcard == Wildcard::Minor)
    }

    fn is_not_equal(&self, version: &Version) -> bool {
        let bound = &self.bound;
        match self.wildcard {
            Wildcard::None => version != bound,
            Wildcard::Minor => version.major != bound.major,
            Wildcard::Patch => {
                (version.major, version.minor) != (bound.major, bound.minor) || version.pre != bound.pre
            }
            // `!=*` compares with 0.0.0 to the last part; Masterminds gives it no special case.
            Wildcard::Major => version != bound,
        }
    }

    /// `>11` starts at 12.0.0 and `>11.1` at 11.2.0: what the wildcard covers is not greater.
    fn is_greater(&self, version: &Version) -> bool {
        let bound = &self.bound;
        match self.wildcard {
            Wildcard::None | Wildcard::Major => version > bound,
            Wildcard::Minor => version.major > bound.major,
            Wildcard::Patch => (version.major, version.minor) > (bound.major, bound.minor),
        }
    }

    /// `<=11` reaches to the end of 11.x, pre-releases of anything below included.
    fn is_less_equal(&self, version: &Version) -> bool {
        let bound = &self.bound;
        match self.wildcard {
            Wildcard::None => version <= bound,
            Wildcard::Minor => version.major <= bound.major,
            Wildcard::Major | Wildcard::Patch => (version.major, version.minor) <= (bound.major, bound.minor),
        }
    }

    /// `^` keeps the left-most part that is not zero: `^1.2` is below 2, `^0.2.3` below 0.3, `^0.0.3` is 0.0.3.
    fn is_caret(&self, version: &Version) -> bool {
        let bound = &self.bound;
        if version < bound {
            return false;
        }
        if bound.major > 0 || self.wildcard == Wildcard::Minor {
            return version.major == bound.major;
        }
        if version.major > 0 {
            return false;
        }
        if bound.minor > 0 || self.wildcard == Wildcard::Patch {
            return version.minor == bound.minor;
        }
        version.minor == 0 && version.patch == bound.patch
    }
}

impl Operator {
    fn parse(text: &str) -> Self {
        match text {
            "!=" => Self::NotEqual,
            ">" => Self::Greater,
            "<" => Self::Less,
            ">=" | "=>" => Self::GreaterEqual,
            "<=" | "=<" => Self::LessEqual,
            "~" | "~>" => Self::Tilde,
            "^" => Self::Caret,
            _ => Self::Equal,
        }
    }
}

fn is_wildcard(part: &str) -> bool {
    matches!(part.strip_prefix('.').unwrap_or(part), "" | "x" | "X" | "*")
}

#[expect(clippy::expect_used, reason = "the grammar is a constant; the first test of the crate compiles it")]
fn grammar(pattern: &str) -> Regex {
    // Go's `\s` is ASCII.
    Regex::new(&pattern.replace(r"\s", r"[\t\n\f\r ]")).expect("the constraint grammar is a valid expression")
}
