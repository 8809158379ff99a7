//! From text to nodes.

mod binary;
mod builder;
mod events;
mod merge;

use std::ops::Range;
use std::sync::Arc;

use builder::{Builder, Expanded};

use crate::{Limits, Node, Source, YamlError, documents};

/// Parses every document of a file; empty, null and comment-only ones are dropped (KZ-602).
///
/// # Errors
/// The text is not YAML or goes over one of the caps.
pub fn parse_documents(source: &Arc<Source>, limits: &Limits) -> Result<Vec<Node>, YamlError> {
    let ranges = documents::split(source.as_str(), limits.documents)?;
    let mut nodes = Vec::with_capacity(ranges.len());
    let mut expanded = Expanded::default();
    for range in ranges {
        if let Some(node) = parse_range(source, range, limits, &mut expanded)?
            && !node.is_null()
        {
            nodes.push(node);
        }
    }
    Ok(nodes)
}

/// Parses the first document of a file only, as the reference reads a kustomization file (KZ-202).
///
/// # Errors
/// The text is not YAML or goes over one of the caps.
pub fn parse_first_document(source: &Arc<Source>, limits: &Limits) -> Result<Option<Node>, YamlError> {
    parse_range(source, 0..source.as_str().len(), limits, &mut Expanded::default())
}

fn parse_range(
    source: &Arc<Source>,
    range: Range<usize>,
    limits: &Limits,
    expanded: &mut Expanded,
) -> Result<Option<Node>, YamlError> {
    let mut builder = Builder::new(source, range.start, limits, expanded);
    events::read_document(source, range, limits, &mut builder)?;
    Ok(builder.finish())
}

#[cfg(test)]
mod tests;
