//! The errors of a generator.

/// A generator that cannot do its work.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// A generator without name.
    #[error("a configmap must have a name")]
    NoName,
    /// One key from two sources (KZ-901).
    #[error("configmap {name} illegally repeats the key `{key}`")]
    RepeatedKey {
        /// Name of the generated object.
        name: String,
        /// The key.
        key: String,
    },
    /// A literal that is no `key=value` (KZ-902).
    #[error("invalid literal source {0}, expected key=value")]
    Literal(String),
    /// A file source without key (KZ-903).
    #[error("missing key name for file path \"{path}\" in source \"{source_text}\"")]
    NoKey {
        /// The path.
        path: String,
        /// The whole source.
        source_text: String,
    },
    /// A file source without path.
    #[error("missing file path for key name \"{key}\" in source \"{source_text}\"")]
    NoPath {
        /// The key.
        key: String,
        /// The whole source.
        source_text: String,
    },
    /// A file source with several equals signs.
    #[error("source \"{0}\" key name or file path contains '='")]
    SeveralEquals(String),
    /// A line of an env file that is not UTF-8 (KZ-904).
    #[error("line {line} has invalid utf8 bytes : {text}")]
    EnvEncoding {
        /// Line, counted from 1.
        line: usize,
        /// Readable part of it.
        text: String,
    },
    /// A line of an env file that the reference would silently stop at (QK-08).
    #[error("line {line} is longer than {limit} bytes")]
    EnvLine {
        /// Line, counted from 1.
        line: usize,
        /// The cap.
        limit: usize,
    },
    /// Merge or replace of something that is not there (KZ-922).
    #[error("id {0} does not exist; cannot merge or replace")]
    NothingToMerge(String),
    /// Creation of something that is there (KZ-923).
    #[error("id {id} exists; can not use behavior: '{behavior}', behavior must be merge or replace")]
    Exists {
        /// The id.
        id: String,
        /// Wanted behaviour.
        behavior: &'static str,
    },
    /// Several objects that could be merged with (KZ-923).
    #[error("found multiple objects {matches} that could accept merge of {id}")]
    Ambiguous {
        /// The id.
        id: String,
        /// The objects.
        matches: String,
    },
    /// A Helm chart; there is no Helm engine here (KZ-1230).
    #[error(
        "trouble configuring builtin HelmChartInflationGenerator with config: `\n{0}`: must specify --enable-helm \
         (charts are rendered by Flux's HelmRelease, not by this build)"
    )]
    Helm(String),
}
