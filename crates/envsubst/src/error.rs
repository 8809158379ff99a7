/// Errors of substituting a text; the messages are those of Flux (KS-SUB-8 puts its own in front).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// After `${` stands no variable name (KS-ENV-7).
    #[error("unable to parse variable name")]
    VariableName,
    /// The name is followed by something that is neither `}` nor an operator (KS-ENV-6).
    #[error("missing closing brace")]
    ClosingBrace,
    /// An operator lacks its word or pattern (KS-ENV-8).
    #[error("unable to parse substitution within function")]
    Argument,
    /// A default operator that is none.
    #[error("unable to parse default function")]
    Default,
    /// An expression that ends where it may not (KS-ENV-11).
    #[error("bad substitution")]
    BadSubstitution,
    /// A variable that is not set, while unset ones are refused (KS-ENV-20).
    #[error("variable not set (strict mode): \"{name}\"")]
    NotSet {
        /// The variable.
        name: String,
    },
    /// `${v:n:m}` with a negative length (KS-ENV-4).
    #[error("negative substring length {length} of variable \"{name}\"")]
    NegativeLength {
        /// The variable.
        name: String,
        /// Length in the expression.
        length: i64,
    },
    /// The text is larger than [`crate::MAX_TEMPLATE`].
    #[error("text of {size} bytes exceeds the limit of {limit} bytes")]
    TemplateTooLarge {
        /// Bytes of the text.
        size: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// Expressions stand in each other more than [`crate::MAX_DEPTH`] deep.
    #[error("expressions are nested more than {limit} deep")]
    TooDeep {
        /// Levels allowed.
        limit: usize,
    },
    /// The values and patterns take more than [`crate::MAX_STEPS`].
    #[error("substitution takes more than {limit} steps")]
    TooManySteps {
        /// Steps allowed.
        limit: usize,
    },
    /// The result would be larger than [`crate::MAX_OUTPUT`].
    #[error("result exceeds the limit of {limit} bytes")]
    OutputTooLarge {
        /// Bytes allowed.
        limit: usize,
    },
}
