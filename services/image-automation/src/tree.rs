//! Applies setters to the files of a commit (ST-1 to ST-6).

mod links;

use std::collections::BTreeMap;

use weir_git::{Checkout, GitFile, ObjectId, Reader, TreeKind};
use weir_setters::{Edited, MAX_FILE_SIZE, SCREEN, Setters, Update, edit, idle, is_candidate};

use self::links::{Files, MAX_TARGET, Outside};

/// New contents of files, and what changed in them.
#[derive(Debug, Default)]
pub(crate) struct Edits {
    /// Whole new contents by path from the root.
    pub(crate) files: Vec<(String, Vec<u8>)>,
    /// Changes made.
    pub(crate) update: Update,
    /// Files that could not be edited, and why: files with markers, and those that are too large to be searched for any.
    pub(crate) problems: Vec<(String, String)>,
    /// Files and setters of markers without a value, where the log shows them (ST-8).
    pub(crate) idle: Vec<(String, String)>,
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
    let all = checkout.files(commit, "")?;
    let reader = checkout.reader()?;
    let files = Files::of(&all, |link| within(&reader, link, MAX_TARGET).map(Result::ok));
    let base = files.resolve(path, Outside::Confined)?;
    let base = base.ok_or_else(|| TreeError::Missing { path: path.to_owned() })?;
    let mut edits = Edits::default();
    let shows_idle = tracing::enabled!(tracing::Level::DEBUG);
    for (path, blob) in candidates(&files, &base)? {
        let content = match within(&reader, blob, MAX_FILE_SIZE)? {
            Ok(content) => content,
            Err(size) => {
                let problem = format!("{size} bytes are more than {MAX_FILE_SIZE}, not searched for markers");
                edits.problems.push((path, problem));
                continue;
            }
        };
        if shows_idle && let Ok(text) = std::str::from_utf8(&content) {
            edits.idle.extend(idle(text, setters).into_iter().map(|setter| (path.clone(), setter)));
        }
        match edited(&content, setters) {
            Ok(None) => {}
            Ok(Some(edited)) => {
                edits.update.record(relative(&base, &path), edited.changes, setters);
                edits.files.push((path, edited.text.into_bytes()));
            }
            Err(problem) => edits.problems.push((path, problem)),
        }
    }
    Ok(edits)
}

/// A file with its new values, none where it stays as it is, or the reason why it has to.
fn edited(content: &[u8], setters: &Setters) -> Result<Option<Edited>, String> {
    // Of texts, `edit` looks for it.
    let is_marked = || content.windows(SCREEN.len()).any(|bytes| bytes == SCREEN.as_bytes());
    match std::str::from_utf8(content) {
        Ok(text) => edit(text, setters).map_err(|problem| problem.to_string()),
        Err(error) if is_marked() => Err(error.to_string()),
        Err(_) => Ok(None),
    }
}

/// The content of a blob, or the number of its bytes: of one with more than `most` of them nothing is read.
fn within(reader: &Reader, blob: ObjectId, most: usize) -> Result<Result<Vec<u8>, u64>, weir_git::Error> {
    let size = reader.size(blob)?;
    if size > most as u64 { Ok(Err(size)) } else { reader.read(blob).map(Ok) }
}

/// The files to look at, by their real path and in its order; links are followed inside the tree (ST-3).
fn candidates<R: Fn(ObjectId) -> Result<Option<Vec<u8>>, weir_git::Error>>(
    files: &Files<'_, R>,
    base: &str,
) -> Result<BTreeMap<String, ObjectId>, TreeError> {
    let is_below = |path: &str| base.is_empty() || path == base || path.starts_with(&format!("{base}/"));
    let below: Vec<&GitFile> = files.all().filter(|file| is_below(&file.path)).collect();
    if below.is_empty() && !base.is_empty() {
        return Err(TreeError::Missing { path: base.to_owned() });
    }
    let mut found = BTreeMap::new();
    for file in below.into_iter().filter(|file| is_candidate(std::path::Path::new(&file.path))) {
        let real = match file.kind {
            TreeKind::Symlink => files.behind(&file.path)?,
            _ => Some(file),
        };
        if let Some(real) = real {
            found.insert(real.path.clone(), real.id);
        }
    }
    Ok(found)
}

/// The path as results show it: from the base, or the base name if the base is the file itself (ST-19).
fn relative<'p>(base: &str, path: &'p str) -> &'p str {
    match path.strip_prefix(base) {
        Some("") => path.rsplit('/').next().unwrap_or(path),
        Some(rest) if base.is_empty() || rest.starts_with('/') => rest.trim_start_matches('/'),
        _ => path,
    }
}

#[cfg(test)]
mod tests;
