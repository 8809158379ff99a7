//! The errors of a place that a commit or a kustomization names.

/// Errors in the URL that a commit or a kustomization names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// Longer than any real one, or with characters that no URL has.
    #[error("the URL is malformed")]
    Malformed,
    /// It would be taken for an option by other programs.
    #[error("the URL or its host begins with a dash")]
    Option,
    /// A file, a command, or a protocol that is not spoken.
    #[error("the URL is none of http, https and ssh")]
    Scheme,
    /// More `../` than the parent's URL has components.
    #[error("the relative URL leads out of the host")]
    Outside,
}
