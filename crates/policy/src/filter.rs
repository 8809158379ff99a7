//! The tag filter: a pattern that tags must match, and what of them the policy ranks (IP-12).

use std::collections::BTreeMap;

use regex::Regex;

use crate::go_regex::{self, GoRegexError};

/// Longest extract template read, in bytes; a template is a handful of group names.
pub const MAX_EXTRACT_LEN: usize = 1024;

/// Errors of making a filter; the text appears in the policy's conditions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// The pattern does not compile.
    #[error("invalid regular expression pattern '{pattern}': {source}")]
    Pattern {
        /// The pattern as written.
        pattern: String,
        /// Fault in it, in Go's text.
        source: GoRegexError,
    },
    /// The extract template is longer than [`MAX_EXTRACT_LEN`].
    #[error("extract template is too long (max {MAX_EXTRACT_LEN} bytes)")]
    ExtractTooLong,
}

/// A compiled filter.
#[derive(Debug, Clone)]
pub struct TagFilter {
    pattern: Regex,
    extract: String,
}

impl TagFilter {
    /// Compiles a filter; an empty pattern matches every tag, an empty extract keeps the tag itself.
    ///
    /// # Errors
    /// [`FilterError`].
    pub fn new(pattern: &str, extract: &str) -> Result<Self, FilterError> {
        if extract.len() > MAX_EXTRACT_LEN {
            return Err(FilterError::ExtractTooLong);
        }
        let compiled = go_regex::compile(pattern)
            .map_err(|source| FilterError::Pattern { pattern: pattern.to_owned(), source })?;
        Ok(Self { pattern: compiled, extract: extract.to_owned() })
    }

    /// Returns the ranked texts of the matching tags, each with the tag it came from; of two tags with the
    /// same text the alphabetically smallest is kept.
    pub fn apply<'a>(&self, tags: impl IntoIterator<Item = &'a str>) -> BTreeMap<String, &'a str> {
        let mut extracted = BTreeMap::new();
        for tag in tags {
            let Some(found) = self.pattern.captures(tag) else { continue };
            let mut text = String::new();
            if self.extract.is_empty() {
                text.push_str(tag);
            } else {
                go_regex::expand(&found, &self.extract, &mut text);
            }
            extracted.entry(text).and_modify(|kept: &mut &str| *kept = (*kept).min(tag)).or_insert(tag);
        }
        extracted
    }
}
