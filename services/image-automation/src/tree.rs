//! Applies setters to the files of a commit (ST-1 to ST-6).

mod links;

use std::collections::BTreeMap;

use weir_git::{Checkout, GitFile, ObjectId, TreeKind};
use weir_setters::{MAX_FILE_SIZE, Setters, Update, edit, is_candidate};

use self::links::{Files, Outside};

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
    let all = checkout.files(commit, "")?;
    let reader = checkout.reader()?;
    let files = Files::of(&all, |blob| reader.read(blob));
    let base = files.resolve(path, Outside::Confined)?;
    let base = base.ok_or_else(|| TreeError::Missing { path: path.to_owned() })?;
    let mut edits = Edits::default();
    for (path, blob) in candidates(&files, &base)? {
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
fn candidates<R: Fn(ObjectId) -> Result<Vec<u8>, weir_git::Error>>(
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
mod tests {
    use rstest::rstest;

    #[rstest]
    #[case("", "a/b.yaml", "a/b.yaml")]
    #[case("a", "a/b.yaml", "b.yaml")]
    #[case("a/b.yaml", "a/b.yaml", "b.yaml")]
    #[case::behind_a_link("a", "ab/c.yaml", "ab/c.yaml")]
    fn results_are_relative(#[case] base: &str, #[case] path: &str, #[case] relative: &str) {
        assert_eq!(super::relative(base, path), relative);
    }
}
