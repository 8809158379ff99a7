//! The errors of a replacement.

use crate::error::Error;
use crate::path::PathError;

/// A replacement that cannot be loaded or made.
#[derive(Debug, thiserror::Error)]
pub enum ReplacementError {
    /// An entry that is both a file and inline (KZ-1101).
    #[error("cannot specify both path and inline replacement")]
    PathAndInline,
    /// A file that holds neither a replacement nor a list of them.
    #[error("unsupported replacement type encountered within replacement path: {0}")]
    UnsupportedFile(&'static str),
    /// Source or targets are missing (KZ-1102).
    #[error("replacements must specify a source and at least one target")]
    Incomplete,
    /// Two sources.
    #[error("value and resource selectors are mutually exclusive")]
    TwoSources,
    /// No resource is the source (KZ-1103).
    #[error("nothing selected by {0}")]
    NoSource(String),
    /// Several resources are the source.
    #[error("multiple matches for selector {0}")]
    SeveralSources(String),
    /// The source does not have the field (KZ-1104).
    #[error("fieldPath `{path}` is missing for replacement source {id}")]
    NoSourceField {
        /// The field.
        path: String,
        /// The source selector.
        id: String,
    },
    /// The path of the source does not fit the resource.
    #[error("error looking up replacement source: {0}")]
    SourcePath(#[source] PathError),
    /// A delimiter for something that has no text.
    #[error("delimiter option can only be used with scalar nodes")]
    DelimiterOnCollection,
    /// A part that the source does not have (KZ-1105).
    #[error("options.index {index} is out of bounds for value {value}")]
    IndexOutOfBounds {
        /// The part.
        index: i64,
        /// The value.
        value: String,
    },
    /// A target that selects nothing in particular (KZ-1106).
    #[error("target must specify resources to select")]
    NoSelect,
    /// A field that a target does not have (KZ-1108).
    #[error("unable to find{} field {path:?} in replacement target{}", if *.is_creating { " or create" } else { "" }, because(.cause))]
    NoTargetField {
        /// The field.
        path: String,
        /// True when it was to be made.
        is_creating: bool,
        /// Cause.
        cause: Option<Box<Error>>,
    },
}

fn because(cause: &Option<Box<Error>>) -> String {
    cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default()
}
