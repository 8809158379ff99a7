//! The options of a build, and its result.

use std::fmt;
use std::sync::Arc;

use crate::{Error, ReadSet, Remote, Resource, SecretPart, Stop};

/// The final order of resources (KZ-102).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reorder {
    /// The caller has no such option, as in Flux: as they were loaded.
    #[default]
    Unset,
    /// Not given: the legacy order.
    Unspecified,
    /// Kinds that others depend on first.
    Legacy,
    /// As they were loaded.
    None,
}

impl Reorder {
    /// Returns true when somebody asked for this order.
    pub(crate) fn is_asked_for(self) -> bool {
        matches!(self, Self::Legacy | Self::None)
    }
}

/// From where files may be read (KZ-302, KZ-303).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadRestriction {
    /// From the directory of the kustomization that names them, and below.
    RootOnly,
    /// From anywhere below the root of the file system.
    None,
}

/// The effect of a custom OpenAPI schema on the built-in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CustomSchema {
    /// It takes its place (KZ-1212).
    Replaces,
    /// It is added to it (KZ-1213).
    Extends,
}

/// Options of a build.
#[derive(Debug, Clone)]
pub struct Options {
    /// Final order, unless the root has `sortOptions`.
    pub reorder: Reorder,
    /// From where files may be read.
    pub load_restriction: LoadRestriction,
    /// Adds `app.kubernetes.io/managed-by` to every resource.
    pub managed_by_label: bool,
    /// The effect of a custom OpenAPI schema on the built-in one.
    pub custom_schema: CustomSchema,
    /// Fetcher of remote bases and files. Without it they are refused (KZ-316).
    pub remote: Option<Arc<dyn Remote>>,
    /// Ends the build when it is requested.
    pub stop: Stop,
    /// Called with each warning when it comes up, also by a build that fails later.
    pub on_warning: fn(&Warning),
}

impl Options {
    /// Returns the options of Flux's builds (KZ-103).
    pub fn gitops() -> Self {
        Self {
            reorder: Reorder::Unset,
            load_restriction: LoadRestriction::None,
            managed_by_label: false,
            custom_schema: CustomSchema::Extends,
            remote: None,
            stop: Stop::default(),
            on_warning: |_| {},
        }
    }

    /// Returns the options of `kustomize build` (KZ-104).
    pub fn cli() -> Self {
        Self {
            reorder: Reorder::Unspecified,
            load_restriction: LoadRestriction::RootOnly,
            custom_schema: CustomSchema::Replaces,
            ..Self::gitops()
        }
    }
}

/// The result of a build.
#[derive(Debug, Clone)]
pub struct Output {
    /// The resources, in their final order.
    pub resources: Vec<Resource>,
    /// The warnings of a build that succeeds, in the order in which [`Options::on_warning`] was called with them.
    pub warnings: Vec<Warning>,
    /// Each file and directory that was read.
    pub read_set: ReadSet,
    /// Parts of values of Secrets that replacements have copied.
    pub secret_parts: Vec<SecretPart>,
}

impl Output {
    /// The resources as the reference prints them, byte for byte (§14).
    ///
    /// # Errors
    /// A resource cannot be rendered.
    pub fn to_yaml(&self) -> Result<String, Error> {
        let mut out = String::new();
        for (index, resource) in self.resources.iter().enumerate() {
            if index > 0 {
                out.push_str("---\n");
            }
            resource.write_yaml(&mut out)?;
        }
        Ok(out)
    }
}

/// Something about a tree that is no error, and that its author should know (KZ-105).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// A field that has been replaced by another (KZ-222).
    DeprecatedField {
        /// The field in use.
        old: &'static str,
        /// The field to use.
        new: &'static str,
    },
    /// A Git URL that starts with `git::` (KZ-311).
    ForcedGit(String),
    /// Vars that no field refers to (KZ-1123).
    UnusedVars(Vec<String>),
    /// Sorting given both by the root and by the option; the root's counts (KZ-1301).
    SortedTwice,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DeprecatedField { old, new } => {
                let experimental = if *old == "vars" { "[EXPERIMENTAL] " } else { "" };
                write!(
                    f,
                    "# Warning: '{old}' is deprecated. Please use '{new}' instead. {experimental}Run 'kustomize edit \
                     fix' to update your Kustomization automatically."
                )
            }
            Self::ForcedGit(url) => {
                write!(f, "# Warning: 'git::' in front of '{url}' has no meaning; write the URL without it.")
            }
            Self::UnusedVars(names) => {
                write!(f, "well-defined vars that were never replaced: {}", names.join(","))
            }
            Self::SortedTwice => f.write_str(
                "Warning: Sorting order is set both in 'kustomization.yaml' ('sortOptions') and in a CLI flag \
                 ('--reorder'). Using the kustomization file over the CLI flag.",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Output;

    #[test]
    fn results_can_leave_the_thread_that_built_them() {
        fn crosses_threads<T: Send + Sync>() {}
        crosses_threads::<Output>();
        crosses_threads::<crate::Error>();
    }
}
