//! Substitution of `${var}` in text, with the bash-like operators that Flux knows (spec of the Kustomize service, 8.2).
//!
//! ```text
//! text ──parse──► Template ──expand(variables, Unset)──► text
//! ```
//!
//! Invariants: time and memory are bounded by the caps below; no input panics; values are inserted as they are and
//! never read again, so that a value holding `${x}` stays that. Where Flux crashes or runs past the end of an
//! expression (KS-ENV-4, KS-ENV-11), this crate returns an error.
//!
//! It does not know YAML, Kubernetes or where the variables come from.

mod error;
mod expand;
mod glob;
mod name;
mod operator;
mod parse;

pub use error::Error;
pub use expand::{MAX_OUTPUT, MAX_STEPS, Unset};
pub use name::{VARIABLE_NAME, is_variable_name};
pub use parse::{MAX_DEPTH, MAX_TEMPLATE};

/// Replaces the expressions of `template` by the values that `lookup` knows.
///
/// # Errors
/// An expression that the grammar does not have, a variable that is not set under [`Unset::Refuse`], or a cap.
pub fn substitute<'v>(
    template: &str,
    lookup: impl Fn(&str) -> Option<&'v str>,
    unset: Unset,
) -> Result<String, Error> {
    expand::Expander::new(lookup, unset).expand(&parse::parse(template)?)
}

#[cfg(test)]
mod tests;
