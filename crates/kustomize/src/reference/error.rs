//! The errors of a reference between resources.

/// A reference that cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    /// A subject of a role binding whose namespace is no string (KZ-1002).
    #[error("Invalid Input: namespace is blank for resource \"{0}\"\n")]
    BlankNamespace(String),
    /// A subject of a role binding whose kind is no string.
    #[error("kind is no text for a subject of \"{0}\"")]
    NoKind(String),
    /// A mapping that should name a resource, but has no name (KZ-1003).
    #[error("path config error; no 'name' field in node")]
    NoName,
    /// Several resources that could be meant (KZ-1004).
    #[error("found multiple possible referrals: {0}")]
    Ambiguous(String),
}
