//! Applies setters to the files of a commit (ST-1 to ST-6).

mod path;

use std::collections::{BTreeMap, BTreeSet};

use weir_git::{Checkout, GitFile, ObjectId, TreeKind};
use weir_setters::{MAX_FILE_SIZE, Setters, Update, edit, is_candidate};

use self::path::{confined, relative, target_of};

/// Longest chain of symbolic links followed; kernels follow 40.
const MAX_LINKS: usize = 8;

/// New contents of files, and what changed in them.
#[derive(Debug, Default)]
pub(crate) struct Edits {
    /// Whole new contents by path from the root.
    pub(crate) files: Vec<(String, Vec<u8>)>,
    /// Changes made.
    pub(crate) update: Update,
    /// Files with markers that could not be edited, and why.
    pub(crate) problems: Vec<(String, String)>,
}

/// Errors of walking the tree.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TreeError {
    /// `update.path` is not there.
    #[error("walking path for files: lstat {path}: no such file or directory")]
    Missing { path: String },
    /// A Git object could not be read.
    #[error("walking path for files: {0}")]
    Git(#[from] weir_git::Error),
}

/// Edits the files below `path` in the tree of a commit. Blocks: call it off the reactor.
pub(crate) fn apply(
    checkout: &Checkout,
    commit: ObjectId,
    path: &str,
    setters: &Setters,
) -> Result<Edits, TreeError> {
    let base = confined(path);
    let all = checkout.files(commit, "")?;
    let reader = checkout.reader()?;
    let mut edits = Edits::default();
    for (path, blob) in candidates(&all, &base, |blob| reader.read(blob))? {
        let content = reader.read(blob)?;
        if content.len() > MAX_FILE_SIZE {
            edits.problems.push((
                path,
                format!("file of {} bytes is larger than {MAX_FILE_SIZE} bytes", content.len()),
            ));
            continue;
        }
        // A file that is not UTF-8 is no YAML.
        let Ok(text) = std::str::from_utf8(&content) else { continue };
        match edit(text, setters) {
            Ok(None) => {}
            Ok(Some(edited)) => {
                edits.update.record(relative(&base, &path), edited.changes, setters);
                edits.files.push((path, edited.text.into_bytes()));
            }
            Err(problem) => edits.problems.push((path, problem.to_string())),
        }
    }
    Ok(edits)
}

/// The files to look at, by their real path and in its order; links are followed inside the tree (ST-3).
fn candidates(
    all: &[GitFile],
    base: &str,
    read: impl Fn(ObjectId) -> Result<Vec<u8>, weir_git::Error>,
) -> Result<BTreeMap<String, ObjectId>, TreeError> {
    let by_path: BTreeMap<&str, &GitFile> = all.iter().map(|file| (file.path.as_str(), file)).collect();
    let is_below = |path: &str| base.is_empty() || path == base || path.starts_with(&format!("{base}/"));
    let below: Vec<&GitFile> = all.iter().filter(|file| is_below(&file.path)).collect();
    if below.is_empty() && !base.is_empty() {
        return Err(TreeError::Missing { path: base.to_owned() });
    }
    let mut found = BTreeMap::new();
    for file in below.into_iter().filter(|file| is_candidate(std::path::Path::new(&file.path))) {
        let mut real = file;
        let mut seen = BTreeSet::new();
        while real.kind == TreeKind::Symlink && seen.len() < MAX_LINKS && seen.insert(&real.path) {
            let target = read(real.id)?;
            let target = std::str::from_utf8(&target).ok().and_then(|target| target_of(&real.path, target));
            match target.and_then(|target| by_path.get(target.as_str()).copied()) {
                Some(next) => real = next,
                None => break,
            }
        }
        if real.kind != TreeKind::Symlink {
            found.insert(real.path.clone(), real.id);
        }
    }
    Ok(found)
}
