//! The errors of a plugin.

/// A plugin configuration that cannot be used (KZ-1201).
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// Something that is no builtin; programs and containers are never run.
    #[error("external plugins disabled; unable to load external plugin '{0}'")]
    External(String),
    /// A builtin that does not exist.
    #[error("unable to load builtin {0}")]
    Unknown(String),
    /// A transformer under `generators`.
    #[error("plugin {0} not a generator")]
    NotAGenerator(String),
    /// A generator under `transformers`.
    #[error("plugin {0} not a transformer")]
    NotATransformer(String),
    /// A configuration that lacks something.
    #[error("{0}")]
    Config(String),
}
