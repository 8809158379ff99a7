//! Pages of listings, in the languages of all servers.

use crate::error::Error;
use crate::object::Object;
use crate::{azure, gcs, s3};

/// The language of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// S3's second kind.
    S3,
    /// S3's first kind, which Google's S3 endpoint speaks.
    OldS3,
    /// The JSON of Google Cloud Storage.
    Gcs,
    /// Azure Blob Storage.
    Azure,
}

impl Listing {
    /// The objects of a page, as [`Bucket::list`](crate::Bucket::list) reads them. Any bytes are read or refused.
    ///
    /// # Errors
    /// When it is no page of this language.
    pub fn objects(self, page: &[u8]) -> Result<Vec<Object>, Error> {
        let page = match self {
            Self::S3 => s3::listing::read(page, false),
            Self::OldS3 => s3::listing::read(page, true),
            Self::Gcs => gcs::read(page),
            Self::Azure => azure::listing::read(page),
        };
        page.map(|page| page.objects)
    }
}
