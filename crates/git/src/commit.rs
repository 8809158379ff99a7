//! Making a commit from another one and a few edited files.

use crate::checkout::Checkout;
use crate::error::Error;
use git2::build::TreeUpdateBuilder;
use git2::{FileMode, ObjectType, Oid, Repository, Time};

/// Files that one commit may change.
const MAX_EDITS: usize = 10_000;

/// Who wrote or committed, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// Name.
    pub name: String,
    /// Address; may be empty.
    pub email: String,
    /// Seconds since 1970.
    pub time: i64,
    /// Offset of the author's clock from UTC in minutes.
    pub offset_minutes: i32,
}

/// Signs the bytes of a commit and returns an armoured signature, or says why not.
pub type Signer<'a> = dyn Fn(&[u8]) -> Result<String, String> + 'a;

/// A commit to be made.
pub struct CommitRequest<'a> {
    /// The commit that it follows.
    pub parent: Oid,
    /// New content of files by path from the root. Modes of existing files are kept; new files are plain.
    pub edits: Vec<(String, Vec<u8>)>,
    /// The message, used as it is.
    pub message: String,
    /// Who wrote it.
    pub author: Signature,
    /// Who committed it.
    pub committer: Signature,
    /// Signs it, if it is to be signed.
    pub sign: Option<&'a Signer<'a>>,
}

impl Checkout {
    /// Makes a commit that no branch knows of yet; [`crate::Git::push`] publishes it.
    ///
    /// # Errors
    /// When a path or a signature cannot be used, or signing fails.
    pub fn commit_edits(&self, request: CommitRequest<'_>) -> Result<Oid, Error> {
        let repository = self.repository()?;
        let parent = repository.find_commit(request.parent)?;
        let tree = edited_tree(&repository, &parent.tree()?, &request.edits)?;
        let (author, committer) = (request.author.to_git()?, request.committer.to_git()?);
        let buffer =
            repository.commit_create_buffer(&author, &committer, &request.message, &tree, &[&parent])?;
        let Some(sign) = request.sign else {
            return Ok(repository.odb()?.write(ObjectType::Commit, &buffer)?);
        };
        let signature = sign(&buffer).map_err(|reason| Error::Sign { reason })?;
        let content = std::str::from_utf8(&buffer)
            .map_err(|_| Error::Sign { reason: "commit is not UTF-8".to_owned() })?;
        Ok(repository.commit_signed(content, &signature, None)?)
    }
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
        if path.split('/').any(|part| matches!(part, "" | "." | ".." | ".git")) || path.contains('\0') {
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

impl Signature {
    fn to_git(&self) -> Result<git2::Signature<'static>, Error> {
        let time = Time::new(self.time, self.offset_minutes);
        Ok(git2::Signature::new(&self.name, &self.email, &time)?)
    }
}
