//! Handlebars over JSON (TP-11 to TP-13): text is never escaped, and a variable that is not there is an error.

mod block;
mod function;

use std::io::{self, Write};

use handlebars::{RenderError, RenderErrorReason, TemplateErrorReason};
use serde_json::Value;

use crate::limit::{Elapsed, MAX_DEPTH, MAX_OUTPUT, MAX_SOURCE};

/// A template that parsed, with the steps of its blocks counted.
#[derive(Debug)]
pub(crate) struct Template {
    name: String,
    parsed: handlebars::Template,
}

/// Errors of parsing or running a Handlebars template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HandlebarsError {
    /// The text is no template.
    #[error("template: {name}:{line}:{column}: {message}")]
    Syntax {
        /// The template's name.
        name: String,
        /// The line, from 1.
        line: usize,
        /// The character in the line, from 1.
        column: usize,
        /// The fault found.
        message: String,
    },
    /// The template failed while it ran.
    #[error("template: {name}:{line}:{column}: {message}")]
    Run {
        /// The template's name.
        name: String,
        /// The line, from 1.
        line: usize,
        /// The character in the line, from 1.
        column: usize,
        /// The fault found.
        message: String,
    },
    /// The template asks for another one; there are none.
    #[error(
        "template: {name}: partials and decorators (`{{{{> …}}}}`, `{{{{#> …}}}}`, `{{{{* …}}}}`) are not available"
    )]
    Unavailable {
        /// The template's name.
        name: String,
    },
    /// Blocks, `else` chains or parentheses might stand too deeply in each other.
    #[error("template: {name}: more than {MAX_DEPTH} blocks and `else` parts, or opening brackets")]
    TooDeep {
        /// The template's name.
        name: String,
    },
    /// The text is longer than [`MAX_SOURCE`].
    #[error("template: {name}: source is longer than {MAX_SOURCE} bytes")]
    TooLong {
        /// The template's name.
        name: String,
    },
}

impl Template {
    /// Parses a template; `name` stands in errors.
    pub(crate) fn parse(name: &str, source: &str) -> Result<Self, HandlebarsError> {
        let name = name.to_owned();
        if source.len() > MAX_SOURCE {
            return Err(HandlebarsError::TooLong { name });
        }
        if block::depth_at_most(source) > MAX_DEPTH {
            return Err(HandlebarsError::TooDeep { name });
        }
        let parsed = handlebars::Template::compile(source).map_err(|error| {
            let (line, column) = error.pos().unwrap_or((1, 1));
            HandlebarsError::Syntax { name: name.clone(), line, column, message: fault(error.reason()) }
        });
        let mut parsed = parsed?;
        match block::prepare(&mut parsed) {
            Ok(()) => Ok(Self { name, parsed }),
            Err(block::Unavailable) => Err(HandlebarsError::Unavailable { name }),
        }
    }

    pub(crate) fn render(&self, data: &Value, elapsed: &Elapsed<'_>) -> Result<String, HandlebarsError> {
        let mut out = Bounded::default();
        let mut registry = function::registry(elapsed);
        registry.register_template(&self.name, self.parsed.clone());
        let rendered = registry.render_to_write(&self.name, data, &mut out);
        rendered.map_err(|error| HandlebarsError::Run {
            name: self.name.clone(),
            line: error.line_no.unwrap_or(1),
            column: error.column_no.unwrap_or(1),
            message: complaint(&error),
        })?;
        Ok(String::from_utf8_lossy(&out.0).into_owned())
    }
}

/// Text that does not grow beyond [`MAX_OUTPUT`].
#[derive(Default)]
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len().saturating_add(bytes.len()) > MAX_OUTPUT {
            return Err(io::Error::other(format!("output is longer than {MAX_OUTPUT} bytes")));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The fault of a template that does not parse; the library's own text is a list of names from its grammar.
fn fault(reason: &TemplateErrorReason) -> String {
    match reason {
        TemplateErrorReason::InvalidSyntax(_) => {
            "no Handlebars from here on, or a block is not closed".to_owned()
        }
        other => other.to_string(),
    }
}

/// The fault of a run.
fn complaint(error: &RenderError) -> String {
    match error.reason() {
        RenderErrorReason::MissingVariable(Some(path)) => format!("{path:?} is not in the data"),
        RenderErrorReason::HelperNotFound(name) => format!("there is no helper {name:?}"),
        RenderErrorReason::IOError(error) => error.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
