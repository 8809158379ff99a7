//! The ignore files that a tree holds.

use std::cell::RefCell;
use std::io::{self, Read};

use weir_ignore::{IGNORE_FILE, MAX_IGNORE_BYTES, Rules};

use crate::RelPath;
use crate::archive::{Tree, TreeKind, walk};

/// Directory of version control, in which no ignore file counts.
const GIT_DIRECTORY: &str = ".git";

/// The rules of the ignore files of a tree, each for the directory in which it lies and below (SRC-IGN-2).
///
/// # Errors
/// When the tree or one of the files cannot be read.
pub fn ignore_rules(tree: &dyn Tree) -> io::Result<Rules> {
    let files = RefCell::new(Vec::new());
    walk(tree, |path, kind| {
        let in_git = path.as_str().split('/').any(|part| part == GIT_DIRECTORY);
        if path.file_name() == IGNORE_FILE && matches!(kind, TreeKind::File { .. }) && !in_git {
            files.borrow_mut().push(path.clone());
        }
        Ok(())
    })?;
    let mut files = files.into_inner();
    // A directory's file counts before those below it; directories count in the order of their names.
    files.sort_by(|a, b| domain(a).cmp(&domain(b)));
    let mut rules = Rules::default();
    for path in &files {
        let mut text = Vec::new();
        tree.open(path)?.reader.take(MAX_IGNORE_BYTES as u64).read_to_end(&mut text)?;
        rules.read(&String::from_utf8_lossy(&text), &domain(path));
    }
    Ok(rules)
}

/// The components of the directory in which a file lies.
fn domain(file: &RelPath) -> Vec<&str> {
    let mut parts: Vec<&str> = file.as_str().split('/').collect();
    parts.pop();
    parts
}
