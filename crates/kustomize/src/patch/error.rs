//! The errors of a patch (KZ-801..804, KZ-810..823, KZ-851..855).

use weir_yaml::YamlError;

use crate::error::Error;

/// A patch that cannot be loaded or applied.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// Neither a patch nor a file (KZ-801).
    #[error("must specify one of patch and path in\n{0}")]
    NoPatch(String),
    /// Both a patch and a file.
    #[error("patch and path can't be set at the same time\n{0}")]
    PatchAndPath(String),
    /// The file of a patch cannot be read.
    #[error("failed to get the patch file from path({path}): {cause}")]
    Unreadable {
        /// The reference.
        path: String,
        /// Cause.
        cause: Box<Error>,
    },
    /// Text that is both kinds of patch at once.
    #[error("illegally qualifies as both an SM and JSON patch: {0}")]
    BothKinds(String),
    /// Text that is no kind of patch (KZ-802).
    #[error(
        "unable to parse SM or JSON patch from {source_text} (as a strategic merge patch: {as_merge}; as a JSON \
         patch: {as_json})"
    )]
    NeitherKind {
        /// The patch or its file.
        source_text: String,
        /// Error as a strategic merge patch.
        as_merge: Box<Error>,
        /// Error as a JSON patch.
        as_json: Box<Error>,
    },
    /// Several strategic merge patches for one target (KZ-812).
    #[error(
        "Multiple Strategic-Merge Patches in one `patches` entry is not allowed to set `patches.target` field: {0}"
    )]
    SeveralPatches(String),
    /// A JSON patch without target.
    #[error("must specify a target for JSON patch {0}")]
    NoTarget(String),
    /// No resource with the id of the patch, or several (KZ-810).
    #[error("{problem} {id}; failed to find unique target for patch {id}")]
    NotUnique {
        /// `no matches for Id` or `multiple matches for Id`.
        problem: &'static str,
        /// The id.
        id: String,
    },
    /// As [`PatchError::NotUnique`], from `patches`.
    #[error("no resource matches strategic merge patch \"{id}\": {cause}")]
    NoMatch {
        /// The id of the patch.
        id: String,
        /// Error for what was found instead.
        cause: Box<Self>,
    },
    /// Nothing in `patchesStrategicMerge` (KZ-803).
    #[error("patch appears to be empty; files=[{0}], Patch={1}")]
    EmptyStrategicMerge(String, String),
    /// No content at all in a strategic merge configuration.
    #[error("empty file path and empty patch content")]
    NothingToMerge,
    /// A `patchesJson6902` entry that lacks something (KZ-804).
    #[error("{0}")]
    Json6902(String),
    /// A `$patch` directive that does not exist (KZ-823).
    #[error("unknown patch strategy '{0}'")]
    UnknownDirective(String),
    /// A list that is merged by keys, which some elements lack or share, and longer than the cap.
    #[error("a list of {length} elements is too long to be merged by keys (at most {limit})")]
    LongList {
        /// Elements of target and patch together.
        length: usize,
        /// The cap.
        limit: usize,
    },
    /// Text that is no list of operations.
    #[error("invalid JSON patch: {0}")]
    NotOperations(String),
    /// A resource that cannot go through JSON.
    #[error(transparent)]
    Render(YamlError),
    /// An operation that does not exist (KZ-851).
    #[error("Unexpected kind: {0}")]
    UnexpectedKind(String),
    /// An operation without `path`.
    #[error("{0} operation failed to decode path: missing value")]
    NoPath(String),
    /// An operation without `from`.
    #[error("{0} operation failed to decode from: missing value")]
    NoFrom(String),
    /// Something above the path is missing (KZ-852).
    #[error("{operation} operation does not apply: {end}: {path}: missing value")]
    MissingPath {
        /// The operation.
        operation: &'static str,
        /// The library's words about the place that is missing.
        end: &'static str,
        /// The path.
        path: String,
    },
    /// `replace` of an element that is not there (KZ-854).
    #[error("replace operation does not apply: doc is missing key: {path}: missing value")]
    MissingKey {
        /// The path.
        path: String,
    },
    /// `replace` of the document by a scalar.
    #[error("replace operation value must be object or array")]
    ReplaceRoot,
    /// The path is there, the operation does not fit it.
    #[error("error in {operation} for {field}: '{path}': {problem}")]
    Operation {
        /// The operation.
        operation: &'static str,
        /// Field of the operation that has the path.
        field: &'static str,
        /// The path.
        path: String,
        /// Cause.
        problem: String,
    },
    /// A copy that finds no place.
    #[error("error while adding value during copy: {0}")]
    Copy(String),
    /// A `test` that does not hold (KZ-855).
    #[error("testing value {0} failed: test failed")]
    TestFailed(String),
    /// More copies than the cap.
    #[error("more than {0} nodes copied by one patch")]
    TooMuchCopied(usize),
}
