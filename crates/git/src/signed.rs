//! Signatures of commits and tags with the bytes that they are over (DEP-GIT-7). They are not judged here.

use gix_hash::ObjectId;
use gix_object::{CommitRefIter, Kind, TagRef};

use crate::checkout::Checkout;
use crate::error::Error;
use crate::objects::Objects;

/// Starts of the first line of a tag's signature.
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
    pub id: ObjectId,
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
    pub target: ObjectId,
    /// The object with its signature.
    pub signed: Signed,
}

impl Checkout {
    /// The commit with its signature; blocks.
    ///
    /// # Errors
    /// When the commit cannot be read or is beyond the cap.
    pub fn commit_signature(&self) -> Result<Signed, Error> {
        let (objects, id) = (self.objects()?, self.commit().id);
        let whole = read(&objects, id, Kind::Commit)?;
        let (payload, signature) = match CommitRefIter::signature(&whole, objects.format())? {
            Some((signature, signed)) => (signed.to_bstring().into(), Some(signature.to_vec())),
            None => (whole, None),
        };
        Ok(Signed { id, payload, signature })
    }

    /// The annotated tag that the reference stood for; nothing when it was a branch, a commit or a lightweight tag.
    /// Blocks.
    ///
    /// # Errors
    /// When the tag cannot be read or is beyond the cap.
    pub fn tag(&self) -> Result<Option<TagObject>, Error> {
        let (objects, id) = (self.objects()?, self.object());
        if objects.header(id)?.is_none_or(|(kind, _)| kind != Kind::Tag) {
            return Ok(None);
        }
        let whole = read(&objects, id, Kind::Tag)?;
        let tag = TagRef::from_bytes(&whole, objects.format())?;
        let (name, target) = (String::from_utf8_lossy(tag.name).into_owned(), tag.target());
        let start = signature_start(&whole);
        let payload = whole.get(..start).unwrap_or_default().to_vec();
        let signature = whole.get(start..).filter(|text| !text.is_empty()).map(<[u8]>::to_vec);
        Ok(Some(TagObject { name, target, signed: Signed { id, payload, signature } }))
    }
}

fn read(objects: &Objects, id: ObjectId, kind: Kind) -> Result<Vec<u8>, Error> {
    let (found, _) = objects.header(id)?.ok_or_else(|| Error::Missing { id: id.to_string() })?;
    if found != kind {
        return Err(Error::NotACommit { name: id.to_string() });
    }
    objects.read(id)
}

/// Returns the start of a tag's signature: the last line that opens one, as Git reads it; at the end when there is none.
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
