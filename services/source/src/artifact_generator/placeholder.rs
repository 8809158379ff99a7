//! Texts with names in braces, `{app}-{env}`: path patterns, and what is made of their captures (SRC-AGN-19).

use std::collections::BTreeMap;

/// A piece of such a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part<'t> {
    /// Stands for itself.
    Text(&'t str),
    /// Stands for a capture.
    Name(&'t str),
}

/// Errors in reading or filling in a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum PlaceholderError {
    /// A brace is opened and not closed.
    #[error("capture at offset {0} has no closing brace")]
    Unclosed(usize),
    /// A brace is closed that was not opened.
    #[error("closing brace at offset {0} closes nothing")]
    Unopened(usize),
    /// The text in the braces is not a name.
    #[error("capture variable {0:?} must match [A-Za-z_][A-Za-z0-9_]*")]
    Name(String),
    /// The path pattern captures nothing of that name.
    #[error("capture variable {0:?} is not defined by pathPattern")]
    Undefined(String),
}

/// Takes a text apart.
pub(super) fn parse(text: &str) -> Result<Vec<Part<'_>>, PlaceholderError> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let offset = text.len() - rest.len();
        let at = rest.find(['{', '}']).unwrap_or(rest.len());
        let (literal, from_brace) = rest.split_at(at);
        if !literal.is_empty() {
            parts.push(Part::Text(literal));
        }
        rest = match from_brace.strip_prefix('{') {
            Some(inside) => {
                let unclosed = PlaceholderError::Unclosed(offset + at);
                let (name, after) = inside.split_once('}').ok_or(unclosed)?;
                parts.push(Part::Name(checked(name)?));
                after
            }
            None if from_brace.is_empty() => "",
            None => return Err(PlaceholderError::Unopened(offset + at)),
        };
    }
    Ok(parts)
}

fn checked(name: &str) -> Result<&str, PlaceholderError> {
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_name = name.starts_with(is_start) && name.chars().all(|c| is_start(c) || c.is_ascii_digit());
    if is_name { Ok(name) } else { Err(PlaceholderError::Name(name.to_owned())) }
}

/// Fills the captures in.
pub(super) fn render(text: &str, captures: &BTreeMap<String, String>) -> Result<String, PlaceholderError> {
    let mut rendered = String::new();
    for part in parse(text)? {
        rendered.push_str(match part {
            Part::Text(text) => text,
            Part::Name(name) => {
                captures.get(name).ok_or_else(|| PlaceholderError::Undefined(name.to_owned()))?
            }
        });
    }
    Ok(rendered)
}
