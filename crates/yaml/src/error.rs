//! Errors in YAML text or in a value of it.

/// A failure to read or render YAML. The words are go-yaml's where users know them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum YamlError {
    /// The text is not YAML.
    #[error("yaml: line {line}: {problem}")]
    Syntax {
        /// Line in the file, from 1.
        line: usize,
        /// The parser's message.
        problem: String,
    },
    /// The bytes are not UTF-8.
    #[error("yaml: line {line}: invalid UTF-8 at byte {offset}")]
    Encoding {
        /// Line in the file, from 1.
        line: usize,
        /// Offset of the first bad byte.
        offset: usize,
    },
    /// A NUL or another control character that YAML forbids.
    #[error("yaml: line {line}: control characters are not allowed")]
    ControlCharacter {
        /// Line in the file, from 1.
        line: usize,
    },
    /// A control character in a value, which YAML text cannot hold.
    #[error("yaml: control characters are not allowed (U+{0:04X})")]
    Forbidden(u32),
    /// Text after a `---` that is no comment (KZ-601).
    #[error("invalid document separator: {0}")]
    Separator(String),
    /// The file is larger than the cap.
    #[error("yaml: {size} bytes are more than the {limit} that are read")]
    TooLarge {
        /// Size of the input in bytes.
        size: usize,
        /// The cap in bytes.
        limit: usize,
    },
    /// Nesting deeper than the cap.
    #[error("yaml: line {line}: nested deeper than {limit} levels")]
    TooDeep {
        /// Line in the file, from 1.
        line: usize,
        /// The cap.
        limit: usize,
    },
    /// More documents than the cap.
    #[error("yaml: more than {0} documents in one file")]
    TooManyDocuments(usize),
    /// Aliases expand to more than the cap.
    #[error("yaml: line {line}: document contains excessive aliasing (more than {limit} {unit})")]
    ExcessiveAliasing {
        /// Line of the alias that went over the cap.
        line: usize,
        /// The cap.
        limit: usize,
        /// Unit of the cap: nodes or bytes.
        unit: &'static str,
    },
    /// A `<<` whose value is neither a mapping nor a list of mappings, or that stands twice (KZ-604).
    #[error("yaml: line {line}: {problem}")]
    Merge {
        /// Line in the file, from 1.
        line: usize,
        /// kyaml's words for the problem.
        problem: &'static str,
    },
    /// A `!!binary` value that is not base64.
    #[error("yaml: line {line}: !!binary value contains invalid base64 data")]
    Binary {
        /// Line in the file, from 1.
        line: usize,
    },
    /// A mapping or list as a mapping key.
    #[error("yaml: line {line}: invalid map key: keys must be scalars")]
    ComplexKey {
        /// Line in the file, from 1.
        line: usize,
    },
    /// The same key twice in one mapping (KZ-609); found when the value is rendered.
    #[error("yaml: unmarshal errors:\n  line {line}: mapping key \"{key}\" already defined at line {first}")]
    DuplicateKey {
        /// Line of the second occurrence.
        line: usize,
        /// The key.
        key: String,
        /// Line of the first occurrence.
        first: usize,
    },
    /// A value whose text does not fit its tag (KZ-606).
    #[error("yaml: cannot decode {found} `{text}` as a {wanted}")]
    Type {
        /// Tag that the text resolves to.
        found: &'static str,
        /// The text.
        text: String,
        /// Wanted tag.
        wanted: &'static str,
    },
    /// A number that JSON cannot hold.
    #[error("json: unsupported value: {0}")]
    UnsupportedNumber(&'static str),
}

impl YamlError {
    /// The refusal of an infinity or NaN, by Go's name for it.
    pub(crate) fn not_finite(float: f64) -> Self {
        Self::UnsupportedNumber(match float {
            f64::INFINITY => "+Inf",
            f64::NEG_INFINITY => "-Inf",
            _ => "NaN",
        })
    }
}
