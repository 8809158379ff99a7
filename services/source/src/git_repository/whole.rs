//! The tree that becomes the artifact: the commit, its submodules and what is included, as one.

use std::io;

use weir_artifact::archive::{OpenFile, find};
use weir_artifact::{RelPath, RelPathError, Tree, TreeEntry, TreeKind};

/// A tree into which others are put; later ones cover earlier ones.
pub(super) struct WholeTree {
    base: Box<dyn Tree + Send>,
    grafts: Vec<Graft>,
}

/// A part of another tree and where it is seen.
struct Graft {
    at: RelPath,
    tree: Box<dyn Tree + Send>,
    /// The part; nothing for all of it.
    from: Option<RelPath>,
    kind: TreeKind,
}

impl WholeTree {
    pub(super) fn new(base: Box<dyn Tree + Send>) -> Self {
        Self { base, grafts: Vec::new() }
    }

    /// Puts the directory `from` of `tree`, or all of `tree`, at a path that is free or an empty directory.
    ///
    /// # Errors
    /// When `tree` lacks `from`, or something is in the way. The messages are those of Go's functions that copy directories.
    pub(super) fn graft(
        &mut self,
        at: RelPath,
        tree: Box<dyn Tree + Send>,
        from: Option<RelPath>,
    ) -> io::Result<()> {
        let shown = from.as_ref().map_or(".", RelPath::as_str);
        let Some(kind) = find(&*tree, from.as_ref())? else {
            return Err(io::Error::other(format!("cannot stat {shown}: no such file or directory")));
        };
        let refused =
            |reason: &str| Err(io::Error::other(format!("cannot rename {shown} to {at}: {reason}")));
        let mut above = at.parent();
        while let Some(path) = above {
            if matches!(find(self, Some(&path))?, Some(TreeKind::File { .. })) {
                return refused("not a directory");
            }
            above = path.parent();
        }
        match find(self, Some(&at))? {
            Some(TreeKind::Directory) if !self.list(Some(&at))?.is_empty() => return refused("file exists"),
            Some(TreeKind::File { .. }) if kind == TreeKind::Directory => return refused("not a directory"),
            _ => {}
        }
        self.grafts.push(Graft { at, tree, from, kind });
        Ok(())
    }

    /// The graft that covers a path: the newest one at or above it, and its place in the order.
    fn cover(&self, path: &RelPath) -> Option<(usize, &Graft)> {
        self.grafts.iter().enumerate().rev().find(|(_, graft)| path.is_below(&graft.at))
    }

    /// The tree that a file is from, and where it is there.
    fn place(&self, path: &RelPath) -> io::Result<(&dyn Tree, RelPath)> {
        let Some((_, graft)) = self.cover(path) else { return Ok((&*self.base, path.clone())) };
        let inner = graft.inner(path).map_err(io::Error::other)?;
        Ok((&*graft.tree, inner.ok_or(io::ErrorKind::IsADirectory)?))
    }
}

impl Graft {
    /// Returns a path at or below this graft as it is in the graft's own tree; nothing for its root.
    fn inner(&self, path: &RelPath) -> Result<Option<RelPath>, RelPathError> {
        let rest = path.as_str().strip_prefix(self.at.as_str()).unwrap_or_default();
        let rest = rest.trim_start_matches('/');
        match (&self.from, rest) {
            (from, "") => Ok(from.clone()),
            (Some(from), rest) => from.join(rest).map(Some),
            (None, rest) => RelPath::parse(rest).map(Some),
        }
    }
}

impl Tree for WholeTree {
    fn list(&self, directory: Option<&RelPath>) -> io::Result<Vec<TreeEntry>> {
        let cover = directory.and_then(|directory| self.cover(directory).map(|cover| (cover, directory)));
        let (listed, above) = match cover {
            Some(((index, graft), directory)) => {
                let inner = graft.inner(directory).map_err(io::Error::other)?;
                (graft.tree.list(inner.as_ref()), index + 1)
            }
            None => (self.base.list(directory), 0),
        };
        let shown = self.grafts.iter().skip(above).filter_map(|graft| graft.entry_in(directory));
        let shown: Vec<_> = shown.collect();
        let mut entries = match listed {
            // A directory that is there only because something was put below it.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !shown.is_empty() => Vec::new(),
            listed => listed?,
        };
        for new in shown {
            match entries.iter_mut().find(|entry| entry.name == new.name) {
                Some(entry) if entry.kind == TreeKind::Directory => {}
                Some(entry) => *entry = new,
                None => entries.push(new),
            }
        }
        Ok(entries)
    }

    fn open(&self, path: &RelPath) -> io::Result<OpenFile<'_>> {
        let (tree, path) = self.place(path)?;
        tree.open(&path)
    }

    fn size(&self, path: &RelPath) -> io::Result<u64> {
        let (tree, path) = self.place(path)?;
        tree.size(&path)
    }

    fn id(&self, path: &RelPath) -> io::Result<Option<Vec<u8>>> {
        let (tree, path) = self.place(path)?;
        tree.id(&path)
    }

    /// Links of the base to its own files only: those of other trees are named from their own roots.
    fn linked(&self, link: &RelPath) -> io::Result<Option<RelPath>> {
        if self.cover(link).is_some() {
            return Ok(None);
        }
        Ok(self.base.linked(link)?.filter(|path| self.cover(path).is_none()))
    }
}

impl Graft {
    /// Returns the entry of this graft in a directory above it: the graft itself, or a directory on the way to it.
    fn entry_in(&self, directory: Option<&RelPath>) -> Option<TreeEntry> {
        let below = match directory {
            None => self.at.as_str(),
            Some(directory) => self.at.as_str().strip_prefix(directory.as_str())?.strip_prefix('/')?,
        };
        Some(match below.split_once('/') {
            Some((name, _)) => TreeEntry { name: name.to_owned(), kind: TreeKind::Directory },
            None => TreeEntry { name: below.to_owned(), kind: self.kind },
        })
    }
}

#[cfg(test)]
mod tests;
