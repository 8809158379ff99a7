//! The clouds.

use std::fmt;

/// A cloud that gives credentials for an identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Provider {
    /// Amazon Web Services.
    Aws,
    /// Microsoft Azure.
    Azure,
    /// Google Cloud.
    Gcp,
}

impl Provider {
    /// The provider that `spec.provider` names; none for `generic`, nothing, and what is no cloud.
    #[must_use]
    pub fn parse(name: Option<&str>) -> Option<Self> {
        match name {
            Some("aws") => Some(Self::Aws),
            Some("azure") => Some(Self::Azure),
            Some("gcp") => Some(Self::Gcp),
            _ => None,
        }
    }

    /// The name in `spec.provider`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Aws => "aws",
            Self::Azure => "azure",
            Self::Gcp => "gcp",
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
