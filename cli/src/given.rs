//! Flags with an empty value, which are as good as not given: scripts write `--ca-file="$CA_FILE"`, and Flux takes that so.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use secrecy::{ExposeSecret, SecretString};

/// A flag that may be left out.
pub(crate) trait Given {
    /// Takes an empty value away.
    fn drop_empty(&mut self);
}

impl<T: AsRef<OsStr>> Given for Option<T> {
    fn drop_empty(&mut self) {
        self.take_if(|value| value.as_ref().is_empty());
    }
}

/// Reads a path, which may be empty: the parser's own reader of paths refuses that.
pub(crate) fn path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

/// Takes an empty secret away.
pub(crate) fn drop_empty_secret(secret: &mut Option<SecretString>) {
    secret.take_if(|secret| secret.expose_secret().is_empty());
}
