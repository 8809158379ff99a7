//! The objects of a repository and how they are read. libgit2 keeps those that SHA-1 names, gitoxide those that SHA-256 names
//! (docs/adr/0009); what is in commits, tags and trees is taken apart in one way for both.

mod stream;

use std::collections::{HashSet, VecDeque};
use std::path::Path;
use std::sync::Arc;

use git2::{Blob, Odb, OdbLookupFlags, Repository};
use gix_hash::ObjectId;
use gix_object::{CommitRef, Exists, FindExt, Kind, TagRef};
use gix_odb::Header;
use gix_odb::store::init::Options;

pub(crate) use self::stream::Stream;
use crate::error::Error;

/// Tags that point at tags before a commit is reached.
const MAX_TAGS: usize = 64;
/// Bytes of a commit or tag: messages of squashed merges have some hundred KiB.
const MAX_MESSAGE: u64 = 16 << 20;
/// Bytes of a tree: a directory of a million files.
const MAX_TREE: u64 = 64 << 20;
/// Bytes of a file that is held in memory.
pub(crate) const MAX_BLOB: u64 = 256 << 20;

/// Returns the most bytes of an object that is read.
pub(crate) fn most(kind: Kind) -> u64 {
    match kind {
        Kind::Commit | Kind::Tag => MAX_MESSAGE,
        Kind::Tree => MAX_TREE,
        Kind::Blob => MAX_BLOB,
    }
}

/// Objects by their names.
pub(crate) enum Objects {
    /// Named by SHA-1.
    Sha1(Repository),
    /// Named by SHA-256.
    Sha256(Box<gix_odb::HandleArc>),
}

impl Objects {
    /// Those named by SHA-256 in the repository at `path`.
    pub(crate) fn sha256(path: &Path) -> Result<Self, Error> {
        let (mut none, options) = (std::iter::empty(), Options::default());
        let store = gix_odb::Store::at_opts(path.join("objects"), gix_hash::Kind::Sha256, &mut none, options);
        let store = store.map_err(|source| Error::WorkDirectory { source })?;
        let mut handle = Arc::new(store).to_handle_arc();
        // A repository is opened anew after each download; to list its packs again for each missing object would take long.
        handle.refresh_never();
        Ok(Self::Sha256(Box::new(handle.into())))
    }

    /// Returns the hash that names the objects.
    pub(crate) fn format(&self) -> gix_hash::Kind {
        match self {
            Self::Sha1(_) => gix_hash::Kind::Sha1,
            Self::Sha256(_) => gix_hash::Kind::Sha256,
        }
    }

    /// Returns the kind of an object and its size; none when the object is absent.
    pub(crate) fn header(&self, id: ObjectId) -> Result<Option<(Kind, u64)>, Error> {
        match self {
            Self::Sha1(repository) => match repository.odb()?.read_header(library_id(id)?) {
                Ok((size, kind)) => Ok(kind_of(kind).map(|kind| (kind, size as u64))),
                Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
                Err(error) => Err(error.into()),
            },
            Self::Sha256(store) => Ok(store.try_header(&id)?.map(|header| (header.kind(), header.size()))),
        }
    }

    /// Returns true when objects are there.
    pub(crate) fn presence(&self) -> Result<Presence<'_>, Error> {
        Ok(match self {
            Self::Sha1(repository) => Presence::Sha1(repository.odb()?),
            Self::Sha256(store) => Presence::Sha256(store),
        })
    }

    /// The bytes of a commit, tag or tree.
    pub(crate) fn read(&self, id: ObjectId) -> Result<Vec<u8>, Error> {
        self.find(id)?.ok_or_else(|| Error::Missing { id: id.to_string() })
    }

    /// The bytes of a commit, tag or tree, if it is there. A megabyte on disk may be a gibibyte in memory, so that its size
    /// is looked at first.
    fn find(&self, id: ObjectId) -> Result<Option<Vec<u8>>, Error> {
        let Some((kind, size)) = self.header(id)? else { return Ok(None) };
        if size > most(kind) {
            return Err(Error::Limit { what: format!("size of {kind} {id}"), limit: most(kind) });
        }
        self.bytes(id).map(Some)
    }

    fn bytes(&self, id: ObjectId) -> Result<Vec<u8>, Error> {
        match self {
            Self::Sha1(repository) => Ok(repository.odb()?.read(library_id(id)?)?.data().to_vec()),
            Self::Sha256(store) => {
                let mut bytes = Vec::new();
                store.find(&id, &mut bytes)?;
                Ok(bytes)
            }
        }
    }

    /// The bytes of a file, whose size is the caller's to look at.
    pub(crate) fn blob(&self, id: ObjectId) -> Result<BlobContent<'_>, Error> {
        match self {
            Self::Sha1(repository) => Ok(BlobContent(Bytes::Lent(repository.find_blob(library_id(id)?)?))),
            Self::Sha256(_) => Ok(BlobContent(Bytes::Own(self.bytes(id)?))),
        }
    }

    /// The tree of a commit.
    pub(crate) fn tree_of(&self, commit: ObjectId) -> Result<ObjectId, Error> {
        Ok(CommitRef::from_bytes(&self.read(commit)?, self.format())?.tree())
    }

    /// A commit and those before it, as far as they are there.
    pub(crate) fn history(&self, commit: ObjectId) -> History<'_> {
        History { objects: self, pending: VecDeque::from([commit]), seen: HashSet::from([commit]) }
    }

    /// The commit that an object is, or that a tag leads to; `name` is what the object is called in errors.
    pub(crate) fn peel(&self, object: ObjectId, name: &str) -> Result<ObjectId, Error> {
        let mut at = object;
        for _ in 0..MAX_TAGS {
            match self.header(at)? {
                Some((Kind::Commit, _)) => return Ok(at),
                Some((Kind::Tag, _)) => at = TagRef::from_bytes(&self.read(at)?, self.format())?.target(),
                _ => break,
            }
        }
        Err(Error::NotACommit { name: name.to_owned() })
    }
}

/// Walks from a commit to its parents, theirs, and so on.
pub(crate) struct History<'a> {
    objects: &'a Objects,
    pending: VecDeque<ObjectId>,
    seen: HashSet<ObjectId>,
}

impl History<'_> {
    /// Returns false where history is cut.
    fn enter(&mut self, commit: ObjectId) -> Result<bool, Error> {
        let Some(bytes) = self.objects.find(commit)? else { return Ok(false) };
        for parent in CommitRef::from_bytes(&bytes, self.objects.format())?.parents() {
            if self.seen.insert(parent) {
                self.pending.push_back(parent);
            }
        }
        Ok(true)
    }
}

impl Iterator for History<'_> {
    type Item = Result<ObjectId, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let commit = self.pending.pop_front()?;
            match self.enter(commit) {
                Ok(false) => {}
                Ok(true) => return Some(Ok(commit)),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Says of many objects whether they are there.
pub(crate) enum Presence<'a> {
    /// Named by SHA-1.
    Sha1(Odb<'a>),
    /// Named by SHA-256.
    Sha256(&'a gix_odb::HandleArc),
}

impl Presence<'_> {
    /// Returns true when an object is there, in the packs that were listed when the repository was opened.
    pub(crate) fn has(&self, id: ObjectId) -> bool {
        match self {
            Presence::Sha1(objects) => {
                library_id(id).is_ok_and(|id| objects.exists_ext(id, OdbLookupFlags::NO_REFRESH))
            }
            Presence::Sha256(store) => store.exists(&id),
        }
    }
}

/// The bytes of a file in the object database.
pub struct BlobContent<'a>(Bytes<'a>);

enum Bytes<'a> {
    Lent(Blob<'a>),
    Own(Vec<u8>),
}

impl AsRef<[u8]> for BlobContent<'_> {
    fn as_ref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Lent(blob) => blob.content(),
            Bytes::Own(bytes) => bytes,
        }
    }
}

/// An id as libgit2 has it.
pub(crate) fn library_id(id: ObjectId) -> Result<git2::Oid, Error> {
    match id {
        ObjectId::Sha1(bytes) => Ok(git2::Oid::from_bytes(&bytes)?),
        _ => Err(Error::ObjectFormat),
    }
}

/// An id that libgit2 made.
pub(crate) fn id_of(id: git2::Oid) -> Result<ObjectId, Error> {
    ObjectId::try_from(id.as_bytes()).map_err(|_| Error::ObjectFormat)
}

fn kind_of(kind: git2::ObjectType) -> Option<Kind> {
    match kind {
        git2::ObjectType::Commit => Some(Kind::Commit),
        git2::ObjectType::Tree => Some(Kind::Tree),
        git2::ObjectType::Blob => Some(Kind::Blob),
        git2::ObjectType::Tag => Some(Kind::Tag),
        git2::ObjectType::Any => None,
    }
}

#[cfg(test)]
mod tests {
    use git2::ObjectType;
    use rstest::rstest;

    use super::*;

    /// Named caps: packed, each of them has some ten thousand bytes.
    #[rstest]
    #[case(ObjectType::Commit, "commit", 16 << 20)]
    #[case(ObjectType::Tag, "tag", 16 << 20)]
    #[case(ObjectType::Tree, "tree", 64 << 20)]
    fn what_is_too_large_is_not_read(#[case] kind: ObjectType, #[case] name: &str, #[case] limit: usize) {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::init_bare(folder.path()).unwrap();
        let mut text = vec![b'a'; limit];
        let kept = id_of(repository.odb().unwrap().write(kind, &text).unwrap()).unwrap();
        text.push(b'a');
        let refused = id_of(repository.odb().unwrap().write(kind, &text).unwrap()).unwrap();
        let objects = Objects::Sha1(repository);
        assert_eq!(objects.read(kept).unwrap().len(), limit);
        let error = objects.read(refused).unwrap_err();
        assert_eq!(error.to_string(), format!("size of {name} {refused} exceeds {limit}"));
    }
}
