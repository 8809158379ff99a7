//! Buckets of S3, Google Cloud Storage and Azure Blob Storage, as sources need them: is it there, what is in it, and the
//! content of an object, streamed.
//!
//! ```text
//!  Buckets ──open(Service, Profile)──► Bucket ── exists ─► list ─► get
//!                                        │
//!                         s3 │ gcs │ azure     requests, signatures, answers of one service each
//!                                        │
//!                                      send    tries, Retry-After, caps, no secrets in errors
//! ```
//!
//! Keys are exact: what the server calls `a//b` or `folder/` is what the caller sees and asks for, which is why the
//! requests are ours (`docs/adr/0003-bucket-requests.md`). A [`Bucket`] has the credentials it was opened with; those that
//! expire are `weir-auth`'s to get. Every body has a cap; time is the caller's to bound.

mod azure;
mod bucket;
mod error;
mod gcs;
mod listing;
mod object;
mod page;
mod s3;
mod send;
mod xml;

pub use azure::{AzureAccess, AzureService};
pub use bucket::{Bucket, Buckets, Service};
pub use error::Error;
pub use gcs::GcsService;
pub use listing::Listing;
pub use object::{Download, Object};
pub use s3::{AccessKeys, S3Service, region_of};
