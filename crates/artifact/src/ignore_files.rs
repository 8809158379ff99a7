//! The ignore files that a tree holds.

use std::io::{self, Read};

use weir_ignore::{IGNORE_FILE, MAX_IGNORE_BYTES, Rules};

use crate::RelPath;
use crate::archive::{Tree, TreeKind, walk};

/// Directory of version control, in which no ignore file counts.
const GIT_DIRECTORY: &str = ".git";

/// The rules of the ignore files of a tree, each for the directory in which it lies and below (SRC-IGN-2). A link to a file
/// of the tree is as good as a file.
///
/// # Errors
/// When the tree or one of the files cannot be read.
pub fn ignore_rules(tree: &dyn Tree) -> io::Result<Rules> {
    let (mut places, mut files) = (vec![RelPath::parse(IGNORE_FILE).map_err(io::Error::other)?], Vec::new());
    walk(tree, |path, kind| {
        let in_git = path.as_str().split('/').any(|part| part == GIT_DIRECTORY);
        match kind {
            TreeKind::Directory if !in_git => {
                places.push(path.join(IGNORE_FILE).map_err(io::Error::other)?);
            }
            TreeKind::File { .. } if path.file_name() == IGNORE_FILE && !in_git => {
                files.push((path.clone(), path.clone()));
            }
            _ => {}
        }
        Ok(())
    })?;
    for place in places {
        if let Some(content) = tree.linked(&place)? {
            files.push((place, content));
        }
    }
    // A directory's file counts before those below it; directories count in the order of their names.
    files.sort_by(|(a, _), (b, _)| domain(a).cmp(&domain(b)));
    let mut rules = Rules::default();
    for (place, content) in &files {
        let mut text = Vec::new();
        // One byte more, by which the rules see that there is more.
        tree.open(content)?.reader.take(MAX_IGNORE_BYTES as u64 + 1).read_to_end(&mut text)?;
        rules.read(&String::from_utf8_lossy(&text), &domain(place));
    }
    Ok(rules)
}

/// The components of the directory in which a file lies.
fn domain(file: &RelPath) -> Vec<&str> {
    let mut parts: Vec<&str> = file.as_str().split('/').collect();
    parts.pop();
    parts
}
