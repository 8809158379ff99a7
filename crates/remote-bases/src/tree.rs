//! The tree of a commit as a file system, its submodules at their places, read object by object.

use parking_lot::Mutex;
use weir_git::{Checkout, ObjectId, Reader, Submodule, TreeKind};
use weir_kustomize::{DirEntry, FileKind, FileSystem, FsError, FsPath};

/// Links on the way to one file; Linux follows as many.
const MAX_LINKS: usize = 40;
/// Bytes of a link's target: Linux has no longer paths.
const MAX_TARGET_BYTES: u64 = 4096;

/// A commit with its submodules. Links are followed inside of it only.
pub struct CommitTree {
    /// The innermost ones come first; the commit itself is last.
    parts: Vec<Part>,
}

/// The commit of a repository, and where in the whole it is.
struct Part {
    root: FsPath,
    /// Keeps the folder that the reader reads from.
    checkout: Checkout,
    reader: Mutex<Reader>,
}

/// The entry at a path.
#[derive(Clone, Copy)]
enum Entry {
    Directory,
    File(ObjectId),
    Link(ObjectId),
}

impl CommitTree {
    /// The tree of a checkout's commit.
    ///
    /// # Errors
    /// A repository that was just fetched cannot be opened, or a submodule's path leads out of it.
    pub fn new(checkout: &Checkout, submodules: &[Submodule]) -> Result<Self, weir_git::Error> {
        let mut parts = vec![Part::new(FsPath::root(), checkout)?];
        for submodule in submodules {
            let bad = |_| weir_git::Error::Path { path: submodule.path.clone() };
            parts.push(Part::new(FsPath::new(&submodule.path).map_err(bad)?, &submodule.checkout)?);
        }
        // A submodule comes before those inside it.
        parts.reverse();
        Ok(Self { parts })
    }

    /// The repository that holds a path, and the path in it.
    fn part(&self, path: &FsPath) -> Option<(&Part, String)> {
        let part = self.parts.iter().find(|part| path.is_in_or_below(&part.root))?;
        Some((part, path.relative_to(&part.root)))
    }

    fn entry(&self, path: &FsPath) -> Result<Option<Entry>, FsError> {
        let Some((part, below)) = self.part(path) else { return Ok(None) };
        if below == "." {
            return Ok(Some(Entry::Directory));
        }
        let found = part.reader.lock().find(part.tree(), &below).map_err(|error| broken(path, error))?;
        Ok(found.map(|node| match node.kind {
            // A submodule that was not fetched is an empty directory, as in a work tree.
            TreeKind::Directory | TreeKind::Submodule => Entry::Directory,
            TreeKind::File { .. } => Entry::File(node.id),
            TreeKind::Symlink => Entry::Link(node.id),
        }))
    }

    /// The bytes of a blob of the repository that holds `path`.
    fn blob(&self, path: &FsPath, id: ObjectId, limit: u64) -> Result<Vec<u8>, FsError> {
        let (part, _) = self.part(path).ok_or_else(|| FsError::NotFound { path: path.clone() })?;
        let reader = part.reader.lock();
        if reader.size(id).map_err(|error| broken(path, error))? > limit {
            return Err(FsError::TooLarge { path: path.clone(), limit });
        }
        reader.read(id).map_err(|error| broken(path, error))
    }

    /// Follows links. Returns the place that a path leads to, and what is there.
    fn follow(&self, operation: &'static str, path: &FsPath) -> Result<(FsPath, Entry), FsError> {
        let escapes =
            || FsError::Escapes { operation, path: path.to_string(), root: FsPath::root().to_string() };
        let mut left: Vec<String> = path.as_str().rsplit('/').map(str::to_owned).collect();
        let (mut at, mut found) = (FsPath::root(), Entry::Directory);
        let mut links = 0;
        while let Some(name) = left.pop() {
            let next = at.join(&name).map_err(|_| escapes())?;
            match self.entry(&next)? {
                None => return Err(FsError::NotFound { path: path.clone() }),
                Some(Entry::Link(id)) => {
                    links += 1;
                    let target = self.blob(&next, id, MAX_TARGET_BYTES)?;
                    let target = String::from_utf8(target).map_err(|error| broken(path, error))?;
                    if links > MAX_LINKS {
                        return Err(broken(path, format!("more than {MAX_LINKS} links")));
                    }
                    if target.starts_with('/') {
                        return Err(escapes());
                    }
                    left.extend(target.rsplit('/').map(str::to_owned));
                }
                Some(entry) => (at, found) = (next, entry),
            }
        }
        Ok((at, found))
    }
}

impl Part {
    fn new(root: FsPath, checkout: &Checkout) -> Result<Self, weir_git::Error> {
        Ok(Self { root, checkout: checkout.clone(), reader: Mutex::new(checkout.reader()?) })
    }

    fn tree(&self) -> ObjectId {
        self.checkout.commit().tree
    }
}

impl FileSystem for CommitTree {
    fn read(&self, path: &FsPath, limit: u64) -> Result<Vec<u8>, FsError> {
        match self.follow("read", path)? {
            (real, Entry::File(id)) => self.blob(&real, id, limit),
            _ => Err(FsError::IsDirectory { path: path.clone() }),
        }
    }

    fn resolve(&self, path: &FsPath) -> Result<(FsPath, FileKind), FsError> {
        let (real, entry) = self.follow("abs", path)?;
        Ok((real, if matches!(entry, Entry::File(_)) { FileKind::File } else { FileKind::Directory }))
    }

    fn list(&self, path: &FsPath) -> Result<Vec<DirEntry>, FsError> {
        let (real, Entry::Directory) = self.follow("walk", path)? else {
            return Err(FsError::NotADirectory { path: path.clone() });
        };
        let Some((part, below)) = self.part(&real) else { return Ok(Vec::new()) };
        let names = {
            let reader = part.reader.lock();
            let tree = reader.find_directory(part.tree(), &below).map_err(|error| broken(path, error))?;
            let nodes =
                tree.map(|tree| reader.list(tree)).transpose().map_err(|error| broken(path, error))?;
            nodes.into_iter().flatten().map(|node| node.name)
        };
        let mut entries: Vec<DirEntry> = names
            .filter_map(|name| {
                let (_, kind) = self.resolve(&real.join(&name).ok()?).ok()?;
                Some(DirEntry { name, kind })
            })
            .collect();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }
}

fn broken(path: &FsPath, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> FsError {
    FsError::Io { path: path.clone(), cause: std::io::Error::other(error) }
}
