//! Reads YAML, all of a build within the same caps.

use std::sync::Arc;

use weir_yaml::{Limits, Node, Source, YamlError, parse_every_document, parse_first_document};

use crate::Error;

/// Largest file that a build reads, in bytes.
pub const MAX_FILE: u64 = LIMITS.bytes as u64;

const LIMITS: Limits = Limits::DEFAULT;

/// Checks the bytes of a file; `reference` is how it was referred to, for messages.
pub(crate) fn source(name: &str, content: Vec<u8>, reference: &str) -> Result<Arc<Source>, Error> {
    Source::read(name, content, &LIMITS).map_err(malformed(reference))
}

/// Parses every document of a file; empty ones are nulls.
pub(crate) fn documents(source: &Arc<Source>, reference: &str) -> Result<Vec<Node>, Error> {
    parse_every_document(source, &LIMITS).map_err(malformed(reference))
}

/// Parses the first document of a file, which is all that the reference reads of most.
pub(crate) fn first_document(name: &str, content: Vec<u8>) -> Result<Option<Node>, YamlError> {
    parse_first_document(&Source::read(name, content, &LIMITS)?, &LIMITS)
}

/// Makes the error of a file that is no YAML.
pub(crate) fn malformed(reference: &str) -> impl FnOnce(YamlError) -> Error {
    move |cause| Error::MalformedYaml { file: reference.to_owned(), cause }
}
