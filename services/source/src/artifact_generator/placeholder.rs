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
    #[error("capture starting at offset {0} is missing closing brace")]
    Unclosed(usize),
    /// A brace is closed that was not opened.
    #[error("capture ending at offset {0} is missing opening brace")]
    Unopened(usize),
    /// Nothing stands in the braces.
    #[error("empty capture variable")]
    Empty,
    /// The text in the braces is not a name.
    #[error("capture variable {0:?} must be a valid capture name matching [A-Za-z_][A-Za-z0-9_]*")]
    Name(String),
    /// The path pattern captures nothing of that name.
    #[error("capture variable {0:?} is not defined by pathPattern")]
    Undefined(String),
}

/// A text that is taken apart, from left to right; an error ends it.
pub(super) struct Parts<'t> {
    rest: &'t str,
    offset: usize,
}

impl<'t> Parts<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self { rest: text, offset: 0 }
    }

    /// Takes `length` bytes off the text.
    fn take(&mut self, length: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        (self.rest, self.offset) = (rest, self.offset + taken.len());
        taken
    }

    fn name(&mut self, inside: &'t str) -> Result<Part<'t>, PlaceholderError> {
        let (name, _) = inside.split_once('}').ok_or(PlaceholderError::Unclosed(self.offset))?;
        self.take(name.len() + "{}".len());
        checked(name).map(Part::Name)
    }
}

impl<'t> Iterator for Parts<'t> {
    type Item = Result<Part<'t>, PlaceholderError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let part = match self.rest.strip_prefix('{') {
            Some(inside) => self.name(inside),
            None if self.rest.starts_with('}') => Err(PlaceholderError::Unopened(self.offset)),
            None => {
                let length = self.rest.find(['{', '}']).unwrap_or(self.rest.len());
                Ok(Part::Text(self.take(length)))
            }
        };
        if part.is_err() {
            self.rest = "";
        }
        Some(part)
    }
}

fn checked(name: &str) -> Result<&str, PlaceholderError> {
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
    match name.chars().next() {
        None => Err(PlaceholderError::Empty),
        Some(first) if is_start(first) && name.chars().all(|c| is_start(c) || c.is_ascii_digit()) => Ok(name),
        Some(_) => Err(PlaceholderError::Name(name.to_owned())),
    }
}

/// Fills the captures in.
pub(super) fn render(text: &str, captures: &BTreeMap<String, String>) -> Result<String, PlaceholderError> {
    let mut rendered = String::new();
    for part in Parts::of(text) {
        rendered.push_str(match part? {
            Part::Text(text) => text,
            Part::Name(name) => {
                captures.get(name).ok_or_else(|| PlaceholderError::Undefined(name.to_owned()))?
            }
        });
    }
    Ok(rendered)
}
