//! Go's `text/template` over values of our own.

mod change;
mod exec;
mod function;
mod lex;
mod node;
mod parse;
mod print;
mod value;

use std::collections::BTreeMap;

pub(crate) use self::value::{Struct, Value};
use self::{exec::Run, node::List, parse::Parser};
use crate::limit::{Elapsed, MAX_SOURCE};

/// A template that parsed: all its functions are known and all its variables declared.
#[derive(Debug)]
pub(crate) struct Template {
    name: String,
    source: String,
    root: List,
    defined: BTreeMap<String, List>,
}

/// Errors of parsing or running a template, in Go's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The text is not a template.
    #[error("template: {name}:{line}: {message}")]
    Parse {
        /// The template's name.
        name: String,
        /// The line, from 1.
        line: usize,
        /// The fault found.
        message: String,
    },
    /// The template failed while it ran.
    #[error("template: {name}:{line}:{column}: executing {inside:?} at <{at}>: {message}")]
    Run {
        /// The template's name.
        name: String,
        /// The line, from 1.
        line: usize,
        /// The byte in the line, from 0.
        column: usize,
        /// The template, named or defined inside, that was running.
        inside: String,
        /// The piece at fault as it was written.
        at: String,
        /// The fault found.
        message: String,
    },
    /// The text is longer than [`MAX_SOURCE`].
    #[error("template: {name}: source is longer than {MAX_SOURCE} bytes")]
    TooLong {
        /// The template's name.
        name: String,
    },
}

impl Template {
    pub(crate) fn parse(name: &str, source: &str) -> Result<Self, TemplateError> {
        if source.len() > MAX_SOURCE {
            return Err(TemplateError::TooLong { name: name.to_owned() });
        }
        let (root, defined) = Parser::new(name, source).run().map_err(|fault| TemplateError::Parse {
            name: name.to_owned(),
            line: fault.line,
            message: fault.message,
        })?;
        Ok(Self { name: name.to_owned(), source: source.to_owned(), root, defined })
    }

    pub(crate) fn render(&self, data: Value, elapsed: &Elapsed<'_>) -> Result<String, TemplateError> {
        Run::new(self, data, elapsed).finish()
    }
}

#[cfg(test)]
mod tests;
