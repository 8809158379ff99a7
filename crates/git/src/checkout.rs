//! A fetched commit, read object by object: no work tree, no filters, no hooks (DEP-GIT-6).

use std::io::{Cursor, Read};
use std::path::PathBuf;
use std::sync::Once;

use gix_hash::ObjectId;
use gix_object::tree::EntryKind;
use gix_object::{CommitRef, TreeRefIter};

use crate::commit::empty_tree;
use crate::error::Error;
use crate::objects::{BlobContent, MAX_BLOB, Objects, Stream, id_of};
use crate::store::Directory;

/// Bytes of a blob from which on it is worth to find it in its pack. Nearly all files are far smaller.
const LARGE_BLOB: u64 = 4 << 20;
/// Files of a tree that are read. The Linux kernel has 90 000.
const MAX_FILES: usize = 500_000;
/// Directories inside each other that are read.
const MAX_DEPTH: usize = 128;
/// Runes of a commit subject that go into events and logs.
const MAX_SUMMARY: usize = 50;

/// The metadata of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitInfo {
    /// Its id.
    pub id: ObjectId,
    /// The first line of its message that says something; blanks in front of it belong to it.
    pub summary: String,
    /// Its whole message.
    pub message: String,
    /// Author as `Name <email>`.
    pub author: String,
    /// Committer time in seconds since 1970.
    pub time: i64,
    /// Its root tree.
    pub tree: ObjectId,
}

impl CommitInfo {
    pub(crate) fn read(objects: &Objects, id: ObjectId) -> Result<Self, Error> {
        let bytes = objects.read(id)?;
        let commit = CommitRef::from_bytes(&bytes, objects.format())?;
        let message = String::from_utf8_lossy(commit.message).trim_start_matches('\n').to_owned();
        // Other programs have written dates that cannot be read; the commit is as good.
        let author = commit.author().map(|author| format!("{} <{}>", author.name, author.email));
        Ok(Self {
            id,
            summary: summary(&message).to_owned(),
            message,
            author: author.unwrap_or_default(),
            time: commit.time().map_or(0, |time| time.seconds),
            tree: commit.tree(),
        })
    }

    /// The subject for events: at most 50 characters, then `...`.
    #[must_use]
    pub fn short_summary(&self) -> String {
        match self.summary.char_indices().nth(MAX_SUMMARY) {
            Some((end, _)) => format!("{}...", self.summary.get(..end).unwrap_or_default()),
            None => self.summary.clone(),
        }
    }
}

fn summary(message: &str) -> &str {
    message.lines().find(|line| !line.trim().is_empty()).unwrap_or_default()
}

/// The kind of a tree's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeKind {
    /// A directory.
    Directory,
    /// A file.
    File {
        /// True when its mode is 0755.
        executable: bool,
    },
    /// A symbolic link.
    Symlink,
    /// A submodule.
    Submodule,
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeNode {
    /// Its name, one path component.
    pub name: String,
    /// Its kind.
    pub kind: TreeKind,
    /// The object.
    pub id: ObjectId,
}

/// A file of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitFile {
    /// Path from the root.
    pub path: String,
    /// File or symlink.
    pub kind: TreeKind,
    /// The blob.
    pub id: ObjectId,
}

/// A commit that was fetched. Its methods block; they belong on a blocking thread.
#[derive(Debug, Clone)]
pub struct Checkout {
    directory: Directory,
    /// Object that the reference pointed to: the commit, or an annotated tag.
    object: ObjectId,
    commit: CommitInfo,
    revision: String,
}

impl Checkout {
    pub(crate) fn new(
        directory: Directory,
        object: ObjectId,
        commit: ObjectId,
        revision: String,
    ) -> Result<Self, Error> {
        let commit = CommitInfo::read(&directory.open()?, commit)?;
        Ok(Self { directory, object, commit, revision })
    }

    /// A repository without a commit: its commit is the null one, without files.
    pub(crate) fn of_nothing(directory: Directory) -> Result<Self, Error> {
        let Objects::Sha1(repository) = directory.open()? else { return Err(Error::ObjectFormat) };
        let null = ObjectId::null(gix_hash::Kind::Sha1);
        let commit = CommitInfo {
            id: null,
            summary: String::new(),
            message: String::new(),
            author: String::new(),
            time: 0,
            tree: id_of(empty_tree(&repository)?)?,
        };
        Ok(Self { directory, object: null, commit, revision: String::new() })
    }

    /// The same repository at another commit that is in it, for example a new one. Its revision is the commit's alone.
    ///
    /// # Errors
    /// When there is no such commit.
    pub fn at(&self, commit: ObjectId) -> Result<Self, Error> {
        Self::new(self.directory.clone(), commit, commit, commit.to_string())
    }

    pub(crate) fn share(&self) -> Directory {
        self.directory.clone()
    }

    pub(crate) fn objects(&self) -> Result<Objects, Error> {
        self.directory.open()
    }

    /// The revision, as `status.artifact.revision` has it.
    #[must_use]
    pub fn revision(&self) -> &str {
        &self.revision
    }

    /// The commit.
    #[must_use]
    pub fn commit(&self) -> &CommitInfo {
        &self.commit
    }

    /// The object that the reference stood for: the commit itself or an annotated tag.
    #[must_use]
    pub fn object(&self) -> ObjectId {
        self.object
    }

    /// Says that something of the checkout cannot be read: a kept repository is removed, so that the next fetch starts
    /// afresh. Blocks.
    pub fn distrust(&self) {
        if let Err(error) = self.directory.discard() {
            tracing::warn!(%error, "a Git repository that cannot be read cannot be removed either");
        }
    }

    /// A reader that keeps the repository open.
    ///
    /// # Errors
    /// When the repository cannot be opened.
    pub fn reader(&self) -> Result<Reader, Error> {
        Reader::of(&self.directory)
    }

    /// The files of a commit below `subtree` (empty for all), sorted by path; no submodules.
    ///
    /// # Errors
    /// When the tree cannot be read or is larger than the caps. A missing subtree has no files.
    pub fn files(&self, commit: ObjectId, subtree: &str) -> Result<Vec<GitFile>, Error> {
        let reader = self.reader()?;
        let root = reader.objects.tree_of(commit)?;
        let prefix = subtree.trim_start_matches("./").trim_matches('/');
        let Some(start) = reader.find_directory(root, prefix)? else { return Ok(Vec::new()) };
        let mut files = Vec::new();
        reader.walk(start, prefix, &|_| true, |path, node| {
            if node.kind != TreeKind::Submodule {
                files.push(GitFile { path: path.to_owned(), kind: node.kind, id: node.id });
            }
        })?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }

    /// The content of a blob.
    ///
    /// # Errors
    /// When it cannot be read or is larger than the caps.
    pub fn read(&self, blob: ObjectId) -> Result<Vec<u8>, Error> {
        self.reader()?.read(blob)
    }
}

/// Reads many objects of one repository.
pub struct Reader {
    objects: Objects,
    packs: PathBuf,
    /// True when a blob may be missing because nobody wanted it.
    is_partial: bool,
    /// Done once a name that is left out has been logged.
    logged: Once,
}

impl Reader {
    pub(crate) fn of(directory: &Directory) -> Result<Self, Error> {
        let (objects, packs) = (directory.open()?, directory.packs());
        Ok(Self { objects, packs, is_partial: directory.is_partial(), logged: Once::new() })
    }

    pub(crate) fn objects(&self) -> &Objects {
        &self.objects
    }

    /// Visits what is in a tree and in its directories, as far as `enters` wants to see them. Directories are not visited
    /// themselves. Paths begin with `prefix`, where the tree is.
    pub(crate) fn walk(
        &self,
        tree: ObjectId,
        prefix: &str,
        enters: &dyn Fn(&str) -> bool,
        mut visit: impl FnMut(&str, &TreeNode),
    ) -> Result<(), Error> {
        let limit =
            |what: &str, limit: usize| Err(Error::Limit { what: what.to_owned(), limit: limit as u64 });
        let (mut pending, mut count) = (vec![(prefix.to_owned(), tree, 0)], 0);
        while let Some((directory, id, depth)) = pending.pop() {
            if depth > MAX_DEPTH {
                return limit("depth of the tree", MAX_DEPTH);
            }
            for node in self.list(id)? {
                let path = match directory.as_str() {
                    "" => node.name.clone(),
                    directory => format!("{directory}/{}", node.name),
                };
                if node.kind != TreeKind::Directory {
                    visit(&path, &node);
                    count += 1;
                } else if enters(&path) {
                    pending.push((path, node.id, depth + 1));
                }
            }
            if count > MAX_FILES {
                return limit("number of files", MAX_FILES);
            }
        }
        Ok(())
    }

    /// The entries of a tree in the order in which Git keeps them. Entries whose names are not UTF-8 are left out: no
    /// artifact can hold them, and the rest of the tree is as good without them.
    ///
    /// # Errors
    /// When the tree cannot be read, or a name is no path component.
    pub fn list(&self, tree: ObjectId) -> Result<Vec<TreeNode>, Error> {
        let bytes = self.objects.read(tree)?;
        let mut nodes = Vec::new();
        for entry in TreeRefIter::from_bytes(&bytes, self.objects.format()) {
            let entry = entry?;
            let Ok(name) = std::str::from_utf8(entry.filename) else {
                let name = String::from_utf8_lossy(entry.filename);
                self.logged
                    .call_once(|| tracing::info!(%name, "Git tree has a name that is not UTF-8, left out"));
                continue;
            };
            if matches!(name, "" | "." | "..") || name.contains(['/', '\0']) {
                return Err(Error::Path { path: name.to_owned() });
            }
            let kind = match entry.mode.kind() {
                EntryKind::Tree => TreeKind::Directory,
                EntryKind::Link => TreeKind::Symlink,
                EntryKind::Commit => TreeKind::Submodule,
                mode => TreeKind::File { executable: mode == EntryKind::BlobExecutable },
            };
            nodes.push(TreeNode { name: name.to_owned(), kind, id: entry.oid.to_owned() });
        }
        Ok(nodes)
    }

    /// The content of a blob.
    ///
    /// # Errors
    /// When it cannot be read or is larger than the caps.
    pub fn read(&self, blob: ObjectId) -> Result<Vec<u8>, Error> {
        Ok(self.blob(blob)?.as_ref().to_vec())
    }

    /// The content of a blob without a copy.
    ///
    /// # Errors
    /// When it cannot be read or is larger than the caps.
    pub fn blob(&self, blob: ObjectId) -> Result<BlobContent<'_>, Error> {
        if self.size(blob)? > MAX_BLOB {
            return Err(Error::Limit { what: format!("size of blob {blob}"), limit: MAX_BLOB });
        }
        self.objects.blob(blob)
    }

    /// The content of a blob, piece by piece if it is large.
    ///
    /// # Errors
    /// When it cannot be read or would take too much memory.
    pub fn open(&self, blob: ObjectId) -> Result<(u64, Box<dyn Read + '_>), Error> {
        let size = self.size(blob)?;
        if size >= LARGE_BLOB
            && let Some(stream) = Stream::find(&self.packs, blob, size)?
        {
            return Ok((size, Box::new(stream)));
        }
        Ok((size, Box::new(Cursor::new(self.blob(blob)?))))
    }

    /// Bytes of a blob.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn size(&self, blob: ObjectId) -> Result<u64, Error> {
        match self.objects.header(blob)? {
            Some((_, size)) => Ok(size),
            None if self.is_partial => Err(Error::NotFetched { id: blob.to_string() }),
            None => Err(Error::Missing { id: blob.to_string() }),
        }
    }

    /// The entry at a path below `root`; nothing when there is none.
    ///
    /// # Errors
    /// When a tree on the way cannot be read.
    pub fn find(&self, root: ObjectId, path: &str) -> Result<Option<TreeNode>, Error> {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        let Some(directory) = self.find_directory(root, directory)? else { return Ok(None) };
        Ok(self.list(directory)?.into_iter().find(|node| node.name == name))
    }

    /// The tree at a path below `root`; nothing when there is none.
    ///
    /// # Errors
    /// When a tree on the way cannot be read.
    pub fn find_directory(&self, root: ObjectId, path: &str) -> Result<Option<ObjectId>, Error> {
        let mut at = root;
        for name in path.split('/').filter(|name| !matches!(*name, "" | ".")) {
            let next =
                self.list(at)?.into_iter().find(|node| node.name == name && node.kind == TreeKind::Directory);
            match next {
                Some(node) => at = node.id,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }
}

#[cfg(test)]
mod tests {
    /// Blanks in front are shown, as in Flux.
    #[rstest::rstest]
    #[case("one\n\ntwo\n", "one")]
    #[case("  one\n", "  one")]
    #[case(" \n\none", "one")]
    #[case("one\r\ntwo", "one")]
    #[case("", "")]
    fn summary(#[case] message: &str, #[case] expected: &str) {
        assert_eq!(super::summary(message), expected);
    }
}
