//! From text to nodes.

mod binary;
mod builder;
mod events;
mod go_yaml_error;
mod lenient;
mod merge;

use std::ops::Range;
use std::sync::Arc;

use builder::{Builder, Expanded};
use events::Failure;
pub(crate) use events::explicit_tag;
pub(crate) use lenient::Mender;

use crate::{Limits, Node, Scalar, Source, YamlError, documents};

/// Parses every document of a file; empty, null and comment-only ones are dropped (KZ-602).
///
/// # Errors
/// The text is not YAML or goes over one of the caps.
pub fn parse_documents(source: &Arc<Source>, limits: &Limits) -> Result<Vec<Node>, YamlError> {
    let mut nodes = parse_every_document(source, limits)?;
    nodes.retain(|node| !node.is_null());
    Ok(nodes)
}

/// Parses every document of a file as [`parse_documents`] does, with a null in the place of each that would be dropped.
///
/// # Errors
/// The text is not YAML or goes over one of the caps.
pub fn parse_every_document(source: &Arc<Source>, limits: &Limits) -> Result<Vec<Node>, YamlError> {
    parse_all(source, limits, &mut File::default())
}

fn parse_all(source: &Arc<Source>, limits: &Limits, file: &mut File) -> Result<Vec<Node>, YamlError> {
    let ranges = documents::split(source.as_str(), limits.documents)?;
    let mut nodes = Vec::with_capacity(ranges.len());
    for range in ranges {
        nodes.push(parse_range(source, range, limits, file)?.unwrap_or_else(|| Node::Scalar(Scalar::null())));
    }
    Ok(nodes)
}

/// Parses the first document of a file only, as the reference reads a kustomization file (KZ-202).
///
/// # Errors
/// The text is not YAML or goes over one of the caps.
pub fn parse_first_document(source: &Arc<Source>, limits: &Limits) -> Result<Option<Node>, YamlError> {
    parse_range(source, 0..source.as_str().len(), limits, &mut File::default())
}

/// Reads and parses the documents of a file within [`Limits::DEFAULT`], as [`parse_documents`] does.
///
/// # Errors
/// The bytes are not YAML or go over one of the caps.
pub fn read_documents(name: &str, bytes: Vec<u8>) -> Result<Vec<Node>, YamlError> {
    parse_documents(&Source::read(name, bytes, &Limits::DEFAULT)?, &Limits::DEFAULT)
}

/// Reads and parses the first document of a file within [`Limits::DEFAULT`].
///
/// # Errors
/// The bytes are not YAML or go over one of the caps.
pub fn read_first_document(name: &str, bytes: Vec<u8>) -> Result<Option<Node>, YamlError> {
    parse_first_document(&Source::read(name, bytes, &Limits::DEFAULT)?, &Limits::DEFAULT)
}

/// Counts what all documents of a file have cost.
#[derive(Default)]
struct File {
    expanded: Expanded,
    mender: Mender,
}

/// Parses a document. Where the parser stops and go-yaml would not, mends the text and begins again.
fn parse_range(
    source: &Arc<Source>,
    range: Range<usize>,
    limits: &Limits,
    file: &mut File,
) -> Result<Option<Node>, YamlError> {
    let expanded = file.expanded;
    let (mut text, mut at) = (Arc::clone(source), range.clone());
    loop {
        let mut builder = Builder::new(&text, at.start, limits, &mut file.expanded);
        let error = match events::read_document(&text, at.clone(), limits, &mut builder) {
            Ok(()) => return Ok(builder.finish()),
            Err(Failure::Refused(error)) => return Err(error),
            Err(Failure::Syntax(error)) => error,
        };
        let document = text.as_str().get(at.clone()).unwrap_or_default();
        let Some(mended) = file.mender.mend(document, &error, limits) else {
            return Err(events::syntax(&error, &text, at.start, limits));
        };
        text = Source::mended(source, range.start, mended);
        at = 0..text.as_str().len();
        file.expanded = expanded;
    }
}

#[cfg(test)]
mod tests;
