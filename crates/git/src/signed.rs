//! Signatures of commits and tags with the bytes that they are over (DEP-GIT-7). They are not judged here.

use crate::checkout::Checkout;
use crate::error::Error;
use git2::{ErrorCode, ObjectType, Oid, Repository};

/// Bytes of a commit or tag object that are looked at: messages of squashed merges have some hundred KiB.
const MAX_OBJECT_BYTES: usize = 16 << 20;
/// How the line begins with which a tag's signature begins.
const ARMOUR: [&[u8]; 4] = [
    b"-----BEGIN PGP SIGNATURE-----",
    b"-----BEGIN PGP MESSAGE-----",
    b"-----BEGIN SSH SIGNATURE-----",
    b"-----BEGIN SIGNED MESSAGE-----",
];

/// A commit or tag as its signer saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// The object.
    pub id: Oid,
    /// The object's bytes without the signature: what the signature has to be over.
    pub payload: Vec<u8>,
    /// The armoured signature; nothing when the object is not signed.
    pub signature: Option<Vec<u8>>,
}

/// An annotated tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagObject {
    /// The name inside the object, which its signature covers. A server may list the object under another one.
    pub name: String,
    /// The object it points at: the commit, or one more tag.
    pub target: Oid,
    /// The object with its signature.
    pub signed: Signed,
}

impl Checkout {
    /// The commit with its signature; blocks.
    ///
    /// # Errors
    /// When the commit cannot be read or is beyond the cap.
    pub fn commit_signature(&self) -> Result<Signed, Error> {
        let (repository, id) = (self.repository()?, self.commit().id);
        let whole = read(&repository, id, ObjectType::Commit)?;
        match repository.extract_signature(&id, None) {
            Ok((signature, payload)) => {
                Ok(Signed { id, payload: payload.to_vec(), signature: Some(signature.to_vec()) })
            }
            Err(error) if error.code() == ErrorCode::NotFound => {
                Ok(Signed { id, payload: whole, signature: None })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The annotated tag that the reference stood for; nothing when it was a branch, a commit or a lightweight tag.
    /// Blocks.
    ///
    /// # Errors
    /// When the tag cannot be read or is beyond the cap.
    pub fn tag(&self) -> Result<Option<TagObject>, Error> {
        let (repository, id) = (self.repository()?, self.object());
        if repository.odb()?.read_header(id)?.1 != ObjectType::Tag {
            return Ok(None);
        }
        let whole = read(&repository, id, ObjectType::Tag)?;
        let tag = repository.find_tag(id)?;
        let name = String::from_utf8_lossy(tag.name_bytes()).into_owned();
        let start = signature_start(&whole);
        let payload = whole.get(..start).unwrap_or_default().to_vec();
        let signature = whole.get(start..).filter(|text| !text.is_empty()).map(<[u8]>::to_vec);
        Ok(Some(TagObject { name, target: tag.target_id(), signed: Signed { id, payload, signature } }))
    }
}

fn read(repository: &Repository, id: Oid, kind: ObjectType) -> Result<Vec<u8>, Error> {
    let odb = repository.odb()?;
    let (size, found) = odb.read_header(id)?;
    if found != kind {
        return Err(Error::NotACommit { name: id.to_string() });
    }
    if size > MAX_OBJECT_BYTES {
        return Err(Error::Limit { what: format!("size of object {id}"), limit: MAX_OBJECT_BYTES as u64 });
    }
    Ok(odb.read(id)?.data().to_vec())
}

/// Where a tag's signature begins: at the last line that opens one, as Git reads it; at the end when there is none.
fn signature_start(tag: &[u8]) -> usize {
    let (mut at, mut start) = (0, tag.len());
    for line in tag.split_inclusive(|byte| *byte == b'\n') {
        if ARMOUR.iter().any(|armour| line.starts_with(armour)) {
            start = at;
        }
        at += line.len();
    }
    start
}
