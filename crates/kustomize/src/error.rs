//! The errors of a build. Every message reads `step: …: the cause`, outermost step first.

use weir_yaml::{Node, Position, YamlError, emit};

use crate::config::ConfigError;
use crate::fieldspec::ConflictingFieldSpecs;
use crate::fs::{FsError, FsPath};
use crate::generate::error::GenerateError;
use crate::kustomization::DecodeError;
use crate::patch::error::PatchError;
use crate::path::PathError;
use crate::plugin::error::PluginError;
use crate::reference::error::ReferenceError;
use crate::remote::RemoteError;
use crate::replacement::error::ReplacementError;
use crate::schema::SchemaError;
use crate::selector::SelectorError;
use crate::vars::error::VarError;

/// A failed build.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A step of the build, and why it failed.
    #[error("{step}: {cause}")]
    Step {
        /// Step that failed, with its file or object.
        step: String,
        /// Cause.
        cause: Box<Self>,
    },
    /// A step of adding a component, with its cause in quotes.
    #[error("{step} {:?}", .cause.to_string())]
    Component {
        /// Step that failed.
        step: &'static str,
        /// Cause.
        cause: Box<Self>,
    },
    /// A file could not be reached.
    #[error(transparent)]
    File(#[from] FsError),
    /// A directory that is built or used as a base cannot be used.
    #[error("must build at directory: {0}")]
    Directory(#[source] NotADirectory),
    /// A file is outside the directory it may be read from (KZ-302).
    #[error("security; file '{file}' is not in or below '{root}'")]
    OutsideRoot {
        /// The file.
        file: FsPath,
        /// The directory of the kustomization that refers to it.
        root: FsPath,
    },
    /// A reference to a base that is empty (KZ-304).
    #[error("new root cannot be empty")]
    EmptyRoot,
    /// A reference to a base that is absolute (KZ-304).
    #[error("new root '{0}' cannot be absolute")]
    AbsoluteRoot(String),
    /// A reference to a base with a segment like `..- x`, which is what two lines become that were indented wrongly
    /// (KZ-306).
    #[error(
        "path \"{path}\" is ambiguous: resolves to \"{resolved}\" after normalization, which is likely not the intended \
         target; check for YAML indentation errors in your kustomization file"
    )]
    AmbiguousPath {
        /// The reference.
        path: String,
        /// Path that it leads to.
        resolved: FsPath,
    },
    /// A base that contains a kustomization that refers to it (KZ-304).
    #[error("cycle detected: candidate root '{candidate}' contains visited root '{visited}'")]
    Cycle {
        /// The directory that was about to be visited.
        candidate: FsPath,
        /// The directory, already being built, that it contains.
        visited: FsPath,
    },
    /// Bases nested deeper than the cap (KZ-322).
    #[error("bases are nested deeper than {0} levels")]
    TooManyLevels(usize),
    /// Somebody has requested that ([`Stop`](crate::Stop)).
    #[error("the build was given up")]
    Stopped,
    /// More resources than the cap.
    #[error("more than {0} resources in one build")]
    TooManyResources(usize),
    /// A file that is not there, where files of any directory may be read (KZ-302).
    #[error("open {0}: no such file or directory")]
    MissingFile(FsPath),
    /// A directory in place of a file, where files of any directory may be read (KZ-302).
    #[error("read {0}: is a directory")]
    ReadDirectory(FsPath),
    /// A directory without kustomization file (KZ-201).
    #[error(
        "unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in directory '{0}'"
    )]
    MissingKustomization(FsPath),
    /// A directory with several kustomization files (KZ-201).
    #[error("Found multiple kustomization files under: {0}\n")]
    SeveralKustomizations(FsPath),
    /// A kustomization file without content (KZ-205).
    #[error("kustomization.yaml is empty")]
    EmptyKustomization,
    /// Fields of the kustomization file that are unknown or have the wrong type (KZ-203).
    #[error("invalid Kustomization: {0}")]
    InvalidKustomization(Box<DecodeError>),
    /// A kustomization file that is not YAML.
    #[error("invalid Kustomization: {0}")]
    MalformedKustomization(YamlError),
    /// A kind or version that is not kustomize's (KZ-206).
    #[error("Failed to read kustomization file under {directory}:\n{problems}")]
    InvalidHeader {
        /// The directory of the file.
        directory: FsPath,
        /// One problem a line.
        problems: String,
    },
    /// A file that is not YAML.
    #[error("MalformedYAMLError: {cause} in File: {file}")]
    MalformedYaml {
        /// The file, or the reference that led to it.
        file: String,
        /// The fault found.
        cause: YamlError,
    },
    /// A document that is no resource (KZ-607).
    #[error("{problem}{}", at(.position))]
    InvalidResource {
        /// Name of the missing thing.
        problem: String,
        /// Place of the document.
        position: Option<Position>,
    },
    /// Two resources with one id (KZ-410).
    #[error("may not add resource with an already registered id: {id}")]
    DuplicateId {
        /// The id.
        id: String,
        /// Place of the first of them among all resources.
        first: usize,
    },
    /// A resource that cannot be rendered (KZ-606, KZ-609).
    #[error("{cause} (in {id}{})", if .file.is_empty() { String::new() } else { format!(", from {}", .file) })]
    Render {
        /// The resource.
        id: String,
        /// The file it was read from; empty when it was made.
        file: String,
        /// The fault in it.
        cause: YamlError,
    },
    /// A field path that cannot be followed in a resource (KZ-701).
    #[error("{problem}{}", at(.position))]
    FieldPath {
        /// The fault found.
        problem: String,
        /// Place at which the resource was read.
        position: Option<Position>,
    },
    /// A node of another kind than a transformer needs (KZ-820).
    #[error("wrong node kind: expected {wanted} but got {found}: node contents:\n{contents}")]
    NodeKind {
        /// The kind that is needed.
        wanted: &'static str,
        /// The kind that is there.
        found: &'static str,
        /// The node as YAML.
        contents: String,
    },
    /// See [`ConflictingFieldSpecs`].
    #[error(transparent)]
    FieldSpecs(#[from] ConflictingFieldSpecs),
    /// Decoding a configuration failed.
    #[error(transparent)]
    Decode(Box<DecodeError>),
    /// A component where a kustomization is wanted, or the other way round (KZ-405).
    #[error("{0}")]
    WrongKind(String),
    /// The sort options make no sense (KZ-1301).
    #[error("{0}")]
    SortOptions(String),
    /// A namespace that makes two resources one (KZ-714).
    #[error("namespace transformation produces ID conflict: {0}")]
    NamespaceConflict(String),
    /// A replica count for a workload that is not there (KZ-760).
    #[error("resource with name {name} does not match a config with the following GVK [{kinds}]")]
    NoReplicaTarget {
        /// Wanted name.
        name: String,
        /// The kinds that were looked at.
        kinds: String,
    },
    /// A validator changed a resource (KZ-407).
    #[error("validator shouldn't modify the resource map: {0}")]
    ValidatorChanged(String),
    /// A bug of the engine (KZ-106); other builds are not affected.
    #[error("recovered from kustomize build panic: {0}")]
    Panic(String),
    /// See [`ConfigError`].
    #[error(transparent)]
    Config(Box<ConfigError>),
    /// See [`GenerateError`].
    #[error(transparent)]
    Generate(Box<GenerateError>),
    /// See [`PatchError`].
    #[error(transparent)]
    Patch(Box<PatchError>),
    /// See [`PathError`].
    #[error(transparent)]
    Path(#[from] PathError),
    /// See [`PluginError`].
    #[error(transparent)]
    Plugin(#[from] PluginError),
    /// See [`ReferenceError`].
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// See [`RemoteError`].
    #[error(transparent)]
    Remote(Box<RemoteError>),
    /// A failure whose message named secrets of URLs; they are left out.
    #[error("{0}")]
    Discreet(String),
    /// See [`ReplacementError`].
    #[error(transparent)]
    Replacement(Box<ReplacementError>),
    /// See [`SchemaError`].
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// See [`SelectorError`].
    #[error(transparent)]
    Selector(#[from] SelectorError),
    /// See [`VarError`].
    #[error(transparent)]
    Var(#[from] VarError),
}

/// Errors of the rooms are boxed, so that results stay small.
macro_rules! boxed {
    ($($variant:ident($cause:ty)),* $(,)?) => {
        $(impl From<$cause> for Error {
            fn from(cause: $cause) -> Self {
                Self::$variant(Box::new(cause))
            }
        })*
    };
}

boxed!(
    Config(ConfigError),
    Decode(DecodeError),
    Generate(GenerateError),
    Patch(PatchError),
    Remote(RemoteError),
    Replacement(ReplacementError),
);

/// Errors for which a base is no directory.
#[derive(Debug, thiserror::Error)]
pub enum NotADirectory {
    /// Nothing is there, or it cannot be reached.
    #[error("not a valid directory: {0}")]
    Unreachable(#[source] FsError),
    /// A file is there.
    #[error("'{0}': file is not directory")]
    IsFile(FsPath),
}

fn at(position: &Option<Position>) -> String {
    position.as_ref().map(|position| format!(" ({position})")).unwrap_or_default()
}

impl Error {
    /// The error with the step it happened in.
    pub(crate) fn context(self, step: impl Into<String>) -> Self {
        Self::Step { step: step.into(), cause: Box::new(self) }
    }

    /// Returns true when the root of the failure is text that is not YAML (KZ-411).
    pub(crate) fn is_malformed_yaml(&self) -> bool {
        match self {
            Self::Step { cause, .. } => cause.is_malformed_yaml(),
            Self::MalformedYaml { .. } => true,
            _ => false,
        }
    }

    /// Returns true when the root of the failure is a list or a mapping where a scalar is needed.
    pub(crate) fn is_about_a_collection(&self) -> bool {
        match self {
            Self::Step { cause, .. } => cause.is_about_a_collection(),
            Self::NodeKind { found, .. } => *found != "ScalarNode",
            _ => false,
        }
    }

    /// Returns true when a remote did not answer in time.
    pub(crate) fn is_timeout(&self) -> bool {
        self.remote().is_some_and(RemoteError::is_timeout)
    }

    /// Returns the fault in a remote reference, if that is the root of the failure.
    pub fn remote(&self) -> Option<&RemoteError> {
        match self {
            Self::Step { cause, .. } | Self::Component { cause, .. } => cause.remote(),
            Self::Remote(error) => Some(error),
            Self::Patch(error) => match error.as_ref() {
                PatchError::Unreadable { cause, .. } => cause.remote(),
                _ => None,
            },
            _ => None,
        }
    }

    /// A node of a kind that a transformer cannot use.
    pub(crate) fn wrong_kind(wanted: &'static str, node: &Node) -> Self {
        let mut contents = String::new();
        // A node that cannot be rendered is shown as far as it goes.
        let _rendered = emit(node, &mut contents);
        Self::NodeKind { wanted, found: node.kind_name(), contents }
    }
}

/// Adds the step to a failed result.
pub(crate) trait Context<T> {
    fn context(self, step: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T, E: Into<Error>> Context<T> for Result<T, E> {
    fn context(self, step: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|error| error.into().context(step()))
    }
}
