//! Go's regular expressions (RE2 syntax) on Rust's linear-time engine (IR-2, DEP-EXPR-1).
//!
//! The two engines agree on matching but not on syntax. [`translate`] reads a pattern by Go's rules, refuses
//! what Go refuses in Go's words, and writes the same expression in Rust's syntax: literals escaped, Perl
//! classes as ASCII sets, `\Q…\E` and octal escapes resolved.

mod class;
mod escape;
mod expand;
mod scan;

use regex::{Regex, RegexBuilder};

pub use self::expand::expand;

/// Longest pattern read, in bytes; patterns are written by people into one field of a manifest.
pub const MAX_PATTERN_LEN: usize = 8 * 1024;

/// Largest compiled program, in bytes; bounds what counted repetitions can multiply to.
pub const MAX_PROGRAM_SIZE: usize = 1 << 20;

/// Deepest nesting of groups.
pub const MAX_NESTING: u32 = 100;

/// Largest count in `{n,m}`; Go has the same bound.
const MAX_REPEAT: u32 = 1000;

/// Faults of a pattern. The texts are Go's and appear in conditions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GoRegexError {
    /// The pattern does not follow Go's syntax.
    #[error("error parsing regexp: {kind}: `{fragment}`")]
    Syntax {
        /// Go's name of the fault.
        kind: Fault,
        /// The part of the pattern at fault.
        fragment: String,
    },
    /// The pattern is longer than [`MAX_PATTERN_LEN`], nests deeper than [`MAX_NESTING`] or compiles to more
    /// than [`MAX_PROGRAM_SIZE`].
    #[error("error parsing regexp: expression too large")]
    TooLarge,
    /// Rust's engine refuses what Go's syntax allows, such as an unknown Unicode script.
    #[error("error parsing regexp: {message}")]
    Engine {
        /// The engine's last line of explanation.
        message: String,
    },
}

/// Go's `regexp/syntax.ErrorCode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's text says what it is")]
pub enum Fault {
    #[error("invalid character class range")]
    CharRange,
    #[error("invalid escape sequence")]
    Escape,
    #[error("invalid named capture")]
    NamedCapture,
    #[error("invalid or unsupported Perl syntax")]
    PerlOperator,
    #[error("invalid nested repetition operator")]
    RepeatOperator,
    #[error("invalid repeat count")]
    RepeatSize,
    #[error("missing closing ]")]
    MissingBracket,
    #[error("missing closing )")]
    MissingParen,
    #[error("unexpected )")]
    UnexpectedParen,
    #[error("missing argument to repetition operator")]
    MissingRepeatArgument,
    #[error("trailing backslash at end of expression")]
    TrailingBackslash,
}

impl GoRegexError {
    fn syntax(kind: Fault, fragment: impl Into<String>) -> Self {
        Self::Syntax { kind, fragment: fragment.into() }
    }
}

/// Compiles a Go pattern; searching is unanchored, as in Go.
///
/// # Errors
/// [`GoRegexError`].
pub fn compile(pattern: &str) -> Result<Regex, GoRegexError> {
    RegexBuilder::new(&translate(pattern)?)
        .size_limit(MAX_PROGRAM_SIZE)
        .nest_limit(MAX_NESTING)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => GoRegexError::TooLarge,
            other => GoRegexError::Engine { message: last_line(&other.to_string()) },
        })
}

/// Writes a Go pattern in Rust's syntax.
///
/// # Errors
/// [`GoRegexError::Syntax`] or [`GoRegexError::TooLarge`].
pub fn translate(pattern: &str) -> Result<String, GoRegexError> {
    if pattern.len() > MAX_PATTERN_LEN {
        return Err(GoRegexError::TooLarge);
    }
    scan::Scanner::new(pattern).run()
}

fn last_line(text: &str) -> String {
    text.lines().last().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests;
