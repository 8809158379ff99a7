//! Indexes of chart repositories, read as a stream: one version of one chart is in memory at a time (SRC-HRP-5, DEV 20).
//!
//! A repository serves YAML or JSON of up to 50 MiB. [`convert`] turns it into the JSON that is stored, sorted and
//! without the entries that Helm would drop; [`releases`] reads one chart out of that JSON.

mod convert;
mod meter;
mod read;
mod scratch;

use std::io;

pub use convert::{Converted, convert};
pub use read::releases;

use crate::metadata::Metadata;

/// Charts of one index. The largest public repositories have some thousands.
pub const MAX_CHARTS: usize = 100_000;
/// Versions of one chart.
pub const MAX_VERSIONS: usize = 100_000;
/// Versions of one index.
pub const MAX_RELEASES: usize = 1_000_000;
/// Bytes of an index in one version of a chart, which is held in memory. Public repositories have some KiB.
pub const MAX_RELEASE_BYTES: u64 = 1 << 20;

/// One version of a chart in an index: what it takes to choose and to download it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Release {
    /// The version.
    pub version: String,
    /// URLs of the package; the first one is used.
    pub urls: Vec<String>,
    /// SHA-256 of the package in hexadecimal; empty when the index has none.
    pub digest: String,
    /// When the package was made, RFC 3339.
    pub created: String,
}

/// Errors that make an index unusable. The texts are Helm's where it has one.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// No bytes at all.
    #[error("empty index.yaml file")]
    Empty,
    /// The index does not say what it is.
    #[error("no API version specified")]
    NoApiVersion,
    /// The index does not say what it is, and has a key that is in no index; the text is Go's.
    #[error("error unmarshaling JSON: while decoding JSON: json: unknown field {key:?}")]
    UnknownKey {
        /// The key.
        key: String,
    },
    /// A key stands twice.
    #[error(
        "error converting YAML to JSON: yaml: unmarshal errors:\n  line {line}: key {key:?} already set in map"
    )]
    DuplicateKey {
        /// The key.
        key: String,
        /// Line of the second one.
        line: u64,
    },
    /// Not YAML, or YAML of another shape.
    #[error("error converting YAML to JSON: yaml: {problem}")]
    Yaml {
        /// The parser's message.
        problem: String,
    },
    /// Something else than an index, or than a part of one; the text is Go's.
    #[error("{way}json: cannot unmarshal {found} into Go {wanted}")]
    Shape {
        /// Go's words about the way over YAML; empty for what is JSON.
        way: &'static str,
        /// The shape that it has.
        found: &'static str,
        /// Go's name of what it should be.
        wanted: &'static str,
    },
    /// JSON of another shape.
    #[error("error unmarshaling JSON: {problem}")]
    Json {
        /// The parser's message.
        problem: String,
    },
    /// More of something than an index may have.
    #[error("index has more than {limit} {what}")]
    TooMany {
        /// Charts or versions.
        what: &'static str,
        /// The cap.
        limit: usize,
    },
    /// A version of a chart, or something beside the charts, does not end.
    #[error("one entry of the index is larger than {MAX_RELEASE_BYTES} bytes")]
    TooLarge,
    /// The file could not be read, or the result not written.
    #[error("failed to read index: {source}")]
    Io {
        /// The file system's words.
        #[source]
        source: io::Error,
    },
}

impl From<Metadata> for Release {
    fn from(metadata: Metadata) -> Self {
        let Metadata { version, urls, digest, created, .. } = metadata;
        Self { version, urls, digest, created }
    }
}
