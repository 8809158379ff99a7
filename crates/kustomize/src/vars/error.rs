//! The errors of a var.

/// A var that cannot be bound or resolved.
#[derive(Debug, thiserror::Error)]
pub enum VarError {
    /// One name for two vars (KZ-1120).
    #[error("var '{0}' already encountered")]
    Repeated(String),
    /// Several resources that could be meant (KZ-1121).
    #[error("found {count} resId matches for var {var} (unable to disambiguate)")]
    Ambiguous {
        /// Number of resources.
        count: usize,
        /// The var.
        var: String,
    },
    /// No resource of the build is meant (KZ-1122).
    #[error("var '{0}' cannot be mapped to a field in the set of known resources")]
    Unbound(String),
    /// The resource does not have the field.
    #[error("field specified in var '{0}' not found in corresponding resource")]
    NoField(String),
    /// A list with something else than strings where vars are expected.
    #[error("invalid value type expect a string")]
    NotAString,
}
