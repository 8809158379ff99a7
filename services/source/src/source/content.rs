//! The part of a tree that becomes the artifact: everything that the ignore rules do not leave out.

use std::io::{self, Write};

use weir_artifact::archive::{OpenFile, Previous, Runs, Sink};
use weir_artifact::{RelPath, Tree, TreeEntry, TreeKind, archive, ignore_rules};
use weir_ignore::{MAX_IGNORE_BYTES, MAX_PATTERNS, Matcher};

/// Writes the artifact of `tree`: its ignore files and `spec_ignore` decide what stays out (SRC-IGN-2).
pub(crate) fn pack(tree: &dyn Tree, spec_ignore: Option<&str>, out: &mut dyn Write) -> io::Result<()> {
    let matcher = matcher(tree, spec_ignore)?;
    archive::write(tree, &|path, is_directory| !matcher.excludes(path.as_str(), is_directory), out)
}

/// Like [`pack`], with the same bytes: what the artifact `previous` has too is copied from it.
pub(crate) fn pack_after(
    tree: &dyn Tree,
    spec_ignore: Option<&str>,
    previous: Option<&Previous>,
    out: &mut dyn Sink,
) -> io::Result<Runs> {
    let matcher = matcher(tree, spec_ignore)?;
    let keep = |path: &RelPath, is_directory| !matcher.excludes(path.as_str(), is_directory);
    archive::write_after(tree, &keep, previous, out)
}

/// Returns the matcher of the files that stay out of the artifact of `tree`.
pub(crate) fn matcher(tree: &dyn Tree, spec_ignore: Option<&str>) -> io::Result<Matcher> {
    let mut rules = ignore_rules(tree)?;
    if let Some(text) = spec_ignore {
        rules.read(text, &[]);
    }
    if rules.is_cut() {
        tracing::warn!(
            "some ignore patterns do not count: a file may have {MAX_IGNORE_BYTES} bytes, and all of a source {MAX_PATTERNS} patterns"
        );
    }
    Ok(rules.into_matcher())
}

/// A tree of which only some directories are seen (`spec.sparseCheckout`).
pub(crate) struct SparseTree<T> {
    inner: T,
    paths: Vec<RelPath>,
}

/// Shows of `inner` only what lies at or below `paths`, by whole path components (SRC-GIT-14, SRC-GIT-16). All is shown
/// when there are none.
pub(crate) fn sparse<T: Tree>(inner: T, paths: Vec<RelPath>) -> SparseTree<T> {
    SparseTree { inner, paths }
}

impl<T: Tree> SparseTree<T> {
    fn shows(&self, path: &RelPath, kind: TreeKind) -> bool {
        let leads_there = |wanted: &RelPath| kind == TreeKind::Directory && wanted.is_below(path);
        self.paths.is_empty() || self.paths.iter().any(|wanted| path.is_below(wanted) || leads_there(wanted))
    }
}

impl<T: Tree> Tree for SparseTree<T> {
    fn list(&self, directory: Option<&RelPath>) -> io::Result<Vec<TreeEntry>> {
        let mut entries = self.inner.list(directory)?;
        entries.retain(|entry| {
            let path = match directory {
                Some(directory) => directory.join(&entry.name),
                None => RelPath::parse(&entry.name),
            };
            path.is_ok_and(|path| self.shows(&path, entry.kind))
        });
        Ok(entries)
    }

    fn open(&self, path: &RelPath) -> io::Result<OpenFile<'_>> {
        self.inner.open(path)
    }

    fn size(&self, path: &RelPath) -> io::Result<u64> {
        self.inner.size(path)
    }

    fn id(&self, path: &RelPath) -> io::Result<Option<Vec<u8>>> {
        self.inner.id(path)
    }

    fn linked(&self, link: &RelPath) -> io::Result<Option<RelPath>> {
        let file = TreeKind::File { executable: false };
        Ok(self.inner.linked(link)?.filter(|path| self.shows(link, file) && self.shows(path, file)))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use weir_artifact::{DirectoryTree, Limits, Untar};

    use super::*;

    fn packed(files: &[(&str, &str)], ignore: Option<&str>, paths: &[&str]) -> Vec<String> {
        let work = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = work.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let paths = paths.iter().map(|path| RelPath::parse(path).unwrap()).collect();
        let mut bytes = Vec::new();
        pack(&sparse(DirectoryTree::open_path(work.path()).unwrap(), paths), ignore, &mut bytes).unwrap();
        let files = Untar::new(Limits::default()).to_map(bytes.as_slice()).unwrap();
        files.keys().map(ToString::to_string).collect()
    }

    #[test]
    fn ignore_files_count_from_the_root_down_and_the_spec_last() {
        let files = [
            (".sourceignore", "*.txt\n!b.txt\n"),
            ("a.txt", ""),
            ("b.txt", ""),
            (".a/b.txt", ""),
            (".a/.sourceignore", "b.txt"),
            ("deploy/.sourceignore", "/sub\n"),
            ("deploy/sub/x.yaml", ""),
            ("deploy/k.yaml", ""),
        ];
        let kept = [".a/.sourceignore", ".sourceignore", "b.txt", "deploy/.sourceignore", "deploy/k.yaml"];
        assert_eq!(packed(&files, None, &[]), kept);
        let kept = [".a/.sourceignore", ".sourceignore", "b.txt", "deploy/.sourceignore"];
        assert_eq!(packed(&files, Some("k.yaml"), &[]), kept);
    }

    #[test]
    fn an_ignore_file_may_be_a_link_inside_the_tree() {
        let work = tempfile::tempdir().unwrap();
        let path = |name: &str| work.path().join(name);
        std::fs::create_dir_all(path("deploy/sub")).unwrap();
        for (name, text) in
            [("rules", "*.txt\n"), ("deploy/a.txt", ""), ("b.txt", ""), ("deploy/c", ""), ("d", "")]
        {
            std::fs::write(path(name), text).unwrap();
        }
        let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, path(name)).unwrap();
        link("../rules", "deploy/.sourceignore");
        link("/etc/hostname", ".sourceignore");
        link("../../../nowhere", "deploy/sub/.sourceignore");
        let packed = |paths: Vec<RelPath>| {
            let mut bytes = Vec::new();
            pack(&sparse(DirectoryTree::open_path(work.path()).unwrap(), paths), None, &mut bytes).unwrap();
            let files = Untar::new(Limits::default()).to_map(bytes.as_slice()).unwrap();
            files.keys().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(packed(Vec::new()), ["b.txt", "d", "deploy/c", "rules"]);
        let only = vec![RelPath::parse("deploy").unwrap()];
        assert_eq!(packed(only), ["deploy/a.txt", "deploy/c"], "the rules are not checked out");
    }

    /// DEV 11, SRC-GIT-16: `dir1` is not also `dir10`.
    #[rstest]
    #[case(&["dir1"], &["dir1/a", "dir1/sub/b"])]
    #[case(&["dir1/sub", "z"], &["dir1/sub/b", "z/d"])]
    #[case(&["z/d"], &["z/d"])]
    fn sparse_by_whole_components(#[case] paths: &[&str], #[case] expected: &[&str]) {
        let files = [("r", ""), ("dir1/a", ""), ("dir1/sub/b", ""), ("dir10/c", ""), ("z/d", "")];
        assert_eq!(packed(&files, None, paths), expected);
    }
}
