//! Making a commit from another one and a few edited files.

use std::fmt;

use git2::build::TreeUpdateBuilder;
use git2::{FileMode, ObjectType, Oid, Repository};
use gix_hash::ObjectId;

use crate::checkout::Checkout;
use crate::error::Error;
use crate::objects::{Objects, id_of, library_id};

/// Files that one commit may change.
const MAX_EDITS: usize = 10_000;

/// The author of a commit, who commits it too, with the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// Name; may be empty.
    pub name: String,
    /// Address; may be empty.
    pub email: String,
    /// Seconds since 1970.
    pub time: i64,
}

/// A signer of commits: takes the bytes, returns an armoured signature or the reason of a failure.
pub type Signer<'a> = dyn Fn(&[u8]) -> Result<String, String> + 'a;

/// A commit to be made.
pub struct CommitRequest<'a> {
    /// The commit that it follows; the null one for the first commit of a repository.
    pub parent: ObjectId,
    /// New content of files by path from the root. Modes of existing files are kept; new files are plain.
    pub edits: Vec<(String, Vec<u8>)>,
    /// The message, used as it is.
    pub message: String,
    /// Author and committer.
    pub author: Author,
    /// Signs it, if it is to be signed.
    pub sign: Option<&'a Signer<'a>>,
}

impl Checkout {
    /// Makes a commit that no branch knows of yet; [`crate::Git::push`] publishes it.
    ///
    /// # Errors
    /// When a path or a signature cannot be used, or signing fails.
    pub fn commit_edits(&self, request: CommitRequest<'_>) -> Result<ObjectId, Error> {
        let Objects::Sha1(repository) = self.objects()? else { return Err(Error::ObjectFormat) };
        let baseline = match request.parent.is_null() {
            true => repository.find_tree(empty_tree(&repository)?)?,
            false => repository.find_commit(library_id(request.parent)?)?.tree()?,
        };
        let tree = edited_tree(&repository, &baseline, &request.edits)?;
        let unsigned = buffer(tree.id(), &request, None);
        let signature = request.sign.map(|sign| sign(&unsigned)).transpose();
        let signature = signature.map_err(|reason| Error::Sign { reason })?;
        let written = match signature {
            Some(signature) => buffer(tree.id(), &request, Some(&signature)),
            None => unsigned,
        };
        id_of(repository.odb()?.write(ObjectType::Commit, &written)?)
    }
}

/// Makes the tree without entries.
pub(crate) fn empty_tree(repository: &Repository) -> Result<Oid, Error> {
    Ok(repository.treebuilder(None)?.write()?)
}

fn edited_tree<'a>(
    repository: &'a Repository,
    baseline: &git2::Tree<'_>,
    edits: &[(String, Vec<u8>)],
) -> Result<git2::Tree<'a>, Error> {
    if edits.len() > MAX_EDITS {
        return Err(Error::Limit { what: "number of edited files".to_owned(), limit: MAX_EDITS as u64 });
    }
    let mut update = TreeUpdateBuilder::new();
    for (path, content) in edits {
        let is_refused = |part: &str| matches!(part, "" | "." | "..") || part.eq_ignore_ascii_case(".git");
        if path.split('/').any(is_refused) || path.contains('\0') {
            return Err(Error::Path { path: path.clone() });
        }
        let mode = match baseline.get_path(std::path::Path::new(path)).map(|entry| entry.filemode()) {
            Ok(mode) if mode == i32::from(FileMode::BlobExecutable) => FileMode::BlobExecutable,
            _ => FileMode::Blob,
        };
        update.upsert(path.as_str(), repository.blob(content)?, mode);
    }
    Ok(repository.find_tree(update.create_updated(repository, baseline)?)?)
}

/// The bytes of a commit. Written here because the library refuses authors without a name, which other Git programs,
/// Flux's among them, take.
fn buffer(tree: Oid, request: &CommitRequest<'_>, signature: Option<&str>) -> Vec<u8> {
    let CommitRequest { parent, author, message, .. } = request;
    let parent = if parent.is_null() { String::new() } else { format!("parent {parent}\n") };
    let signature = signature.map(header).unwrap_or_default();
    format!("tree {tree}\n{parent}author {author}\ncommitter {author}\n{signature}\n{message}").into_bytes()
}

/// Returns the header with a signature: a space is before each line but the first.
fn header(signature: &str) -> String {
    format!("gpgsig {}\n", signature.trim_end().replace('\n', "\n "))
}

/// As in the header of a commit; what would break the header is left out.
impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, email, time } = self;
        write!(f, "{} <{}> {time} +0000", plain(name), plain(email))
    }
}

fn plain(text: &str) -> String {
    text.chars().filter(|character| !character.is_control() && !matches!(character, '<' | '>')).collect()
}
