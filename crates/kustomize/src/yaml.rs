//! Reads YAML, all of a build within the same caps.

use std::sync::Arc;

use weir_yaml::{Limits, Node, Source, YamlError, parse_every_document};

use crate::Error;

/// Largest file that a build reads, in bytes.
pub const MAX_FILE: u64 = Limits::DEFAULT.bytes as u64;

/// Checks the bytes of a file; `reference` is how it was referred to, for messages.
pub(crate) fn source(name: &str, content: Vec<u8>, reference: &str) -> Result<Arc<Source>, Error> {
    Source::read(name, content, &Limits::DEFAULT).map_err(malformed(reference))
}

/// Parses every document of a file; empty ones are nulls.
pub(crate) fn documents(source: &Arc<Source>, reference: &str) -> Result<Vec<Node>, Error> {
    parse_every_document(source, &Limits::DEFAULT).map_err(malformed(reference))
}

/// Makes the error of a file that is no YAML.
pub(crate) fn malformed(reference: &str) -> impl FnOnce(YamlError) -> Error {
    move |cause| Error::MalformedYaml { file: reference.to_owned(), cause }
}
