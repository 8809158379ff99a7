//! The files that the artifact of another revision would hold; nothing is stored, and no status is written. `weir plan` builds
//! from them.

use std::collections::BTreeMap;
use std::io;

use weir_artifact::{FileStack, RelPath, Span, Tree};

pub use crate::git_repository::{Preview, PreviewError, preview as git_repository};
use crate::source::matcher;

/// Reads the files of a tree that its artifact would hold: its ignore files and the source's `spec.ignore` decide what stays
/// out (SRC-IGN-2). Files of more than `largest` bytes are listed, and not kept. Blocks.
///
/// # Errors
/// When the tree cannot be read, or the disk does not take it.
pub fn files(
    tree: &dyn Tree,
    spec_ignore: Option<&str>,
    largest: u64,
) -> io::Result<(BTreeMap<RelPath, Span>, FileStack)> {
    let matcher = matcher(tree, spec_ignore)?;
    FileStack::of_tree(tree, &|path| !matcher.excludes(path.as_str(), false), largest)
}
