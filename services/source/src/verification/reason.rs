//! The reason of conditions for artifacts that are not verified.

/// A key or signature is not good, or cannot be checked.
pub(crate) const VERIFICATION_ERROR: &str = "VerificationError";
