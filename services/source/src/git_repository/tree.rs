//! A commit as a tree of files, read from the object store without a checkout. Paths that no artifact can hold are left
//! out.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Once;

use parking_lot::Mutex;
use weir_artifact::archive::OpenFile;
use weir_artifact::{RelPath, Tree, TreeEntry, TreeKind};
use weir_git::{Checkout, Error, ObjectId, Reader};
use weir_ignore::IGNORE_FILE;

/// Bytes of a link's target; longer ones are no path on any system.
const MAX_TARGET_BYTES: u64 = 4096;

/// A commit's tree. Objects are known by path from the moment their directory was listed.
pub(super) struct CommitTree {
    reader: Reader,
    root: ObjectId,
    objects: Mutex<HashMap<RelPath, ObjectId>>,
    /// Places of submodules, where a checkout has an empty directory.
    submodules: Mutex<HashSet<RelPath>>,
    /// Ignore files that are symbolic links.
    links: Mutex<HashMap<RelPath, ObjectId>>,
    /// Done once a path that is left out has been logged.
    told: Once,
    /// Keeps the folder that the reader reads from.
    _checkout: Checkout,
}

impl CommitTree {
    pub(super) fn open(checkout: &Checkout) -> Result<Self, Error> {
        let (reader, root) = (checkout.reader()?, checkout.commit().tree);
        let (objects, submodules, links) = (Mutex::default(), Mutex::default(), Mutex::default());
        Ok(Self { reader, root, objects, submodules, links, told: Once::new(), _checkout: checkout.clone() })
    }

    fn object(&self, path: &RelPath) -> io::Result<ObjectId> {
        self.objects.lock().get(path).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Tree for CommitTree {
    fn list(&self, directory: Option<&RelPath>) -> io::Result<Vec<TreeEntry>> {
        if directory.is_some_and(|path| self.submodules.lock().contains(path)) {
            return Ok(Vec::new());
        }
        let id = directory.map_or(Ok(self.root), |path| self.object(path))?;
        let nodes = self.reader.list(id).map_err(io::Error::other)?;
        let mut entries = Vec::with_capacity(nodes.len());
        for node in nodes {
            let path = match directory {
                Some(directory) => directory.join(&node.name),
                None => RelPath::parse(&node.name),
            };
            // A path that no artifact of ours can hold, such as one with a backslash, costs that file and not the source.
            let path = match path {
                Ok(path) => path,
                Err(error) => {
                    self.told.call_once(|| tracing::info!(%error, "Git tree has an unusable path, left out"));
                    continue;
                }
            };
            let kind = match node.kind {
                weir_git::TreeKind::Directory => TreeKind::Directory,
                weir_git::TreeKind::File { executable } => TreeKind::File { executable },
                weir_git::TreeKind::Symlink => {
                    if node.name == IGNORE_FILE {
                        self.links.lock().insert(path.clone(), node.id);
                    }
                    TreeKind::Other
                }
                weir_git::TreeKind::Submodule => {
                    self.submodules.lock().insert(path.clone());
                    TreeKind::Directory
                }
            };
            self.objects.lock().insert(path, node.id);
            entries.push(TreeEntry { name: node.name, kind });
        }
        Ok(entries)
    }

    fn open(&self, path: &RelPath) -> io::Result<OpenFile<'_>> {
        let (size, reader) = self.reader.open(self.object(path)?).map_err(io::Error::other)?;
        Ok(OpenFile { size, reader })
    }

    fn size(&self, path: &RelPath) -> io::Result<u64> {
        self.reader.size(self.object(path)?).map_err(io::Error::other)
    }

    fn id(&self, path: &RelPath) -> io::Result<Option<Vec<u8>>> {
        Ok(Some(self.object(path)?.as_bytes().to_vec()))
    }

    /// Follows one link: ignore files are not linked in chains.
    fn linked(&self, link: &RelPath) -> io::Result<Option<RelPath>> {
        let Some(id) = self.links.lock().get(link).copied() else { return Ok(None) };
        if self.reader.size(id).map_err(io::Error::other)? > MAX_TARGET_BYTES {
            return Ok(None);
        }
        let target = self.reader.read(id).map_err(io::Error::other)?;
        let Some(path) = std::str::from_utf8(&target).ok().and_then(|target| followed(link, target)) else {
            return Ok(None);
        };
        let found = self.reader.find(self.root, path.as_str()).map_err(io::Error::other)?;
        // The file may not be there if only a part of the tree is fetched.
        let is_file = found.is_some_and(|node| {
            matches!(node.kind, weir_git::TreeKind::File { .. }) && self.reader.size(node.id).is_ok()
        });
        Ok(is_file.then_some(path))
    }
}

/// Returns the path to which a link leads; nothing when it leads out of the tree.
fn followed(link: &RelPath, target: &str) -> Option<RelPath> {
    let directory = link.parent();
    let mut parts: Vec<&str> = directory.iter().flat_map(|directory| directory.as_str().split('/')).collect();
    if target.starts_with('/') {
        return None;
    }
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    RelPath::parse(&parts.join("/")).ok()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("a/.sourceignore", "../rules", Some("rules"))]
    #[case("a/.sourceignore", "./b//rules", Some("a/b/rules"))]
    #[case(".sourceignore", "rules", Some("rules"))]
    #[case(".sourceignore", "../rules", None)]
    #[case(".sourceignore", "/etc/rules", None)]
    #[case("a/.sourceignore", "..", None)]
    fn links_lead_inside_or_nowhere(
        #[case] link: &str,
        #[case] target: &str,
        #[case] expected: Option<&str>,
    ) {
        let link = RelPath::parse(link).unwrap();
        assert_eq!(followed(&link, target).as_ref().map(RelPath::as_str), expected);
    }
}
