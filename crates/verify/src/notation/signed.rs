//! The common part of certificates, lists and answers of OCSP servers: content, and a signature over it.

use der::asn1::{BitStringRef, ContextSpecific};
use der::{AnyRef, Decode, Reader, Tag, TagNumber, Tagged};

use super::signature;

/// Certificates beside an answer. The first counts, the others are for those who look further.
const MAX_CERTIFICATES: usize = 10;

/// Content with its signature, taken apart and not yet believed. The bytes are those that were signed, not what they mean
/// written anew.
pub(super) struct Signed<'a> {
    /// The content, with its tag and length.
    pub(super) content: &'a [u8],
    algorithm: AnyRef<'a>,
    signature: BitStringRef<'a>,
    /// Certificates that came along; only answers of OCSP servers have them.
    pub(super) certificates: Vec<&'a [u8]>,
}

impl<'a> Signed<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> der::Result<Self> {
        AnyRef::from_der(bytes)?.sequence(|parts| {
            let content = parts.tlv_bytes()?;
            let (algorithm, signature) = (AnyRef::decode(parts)?, BitStringRef::decode(parts)?);
            algorithm.tag().assert_eq(Tag::Sequence)?;
            let certificates = ContextSpecific::<AnyRef<'a>>::decode_explicit(parts, TagNumber::N0)?;
            let certificates = certificates.map(|found| elements(found.value)).transpose()?;
            let certificates = certificates.unwrap_or_default();
            Ok(Signed { content, algorithm, signature, certificates })
        })
    }

    /// Returns true when the key, encoded with its kind, made the signature.
    pub(super) fn is_by(&self, key: &[u8]) -> bool {
        let Some(bytes) = self.signature.as_bytes() else { return false };
        signature::is_by(key, self.algorithm.value(), self.content, bytes)
    }
}

fn elements<'a>(list: AnyRef<'a>) -> der::Result<Vec<&'a [u8]>> {
    list.sequence(|rest| {
        let mut found = Vec::new();
        while !rest.is_finished() && found.len() < MAX_CERTIFICATES {
            found.push(rest.tlv_bytes()?);
        }
        // The others are read past.
        rest.read_slice(rest.remaining_len())?;
        Ok(found)
    })
}
