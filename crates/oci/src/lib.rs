//! OCI registries, as sources, image policies and the command need them: list tags, resolve a tag to a digest, push, read a manifest and
//! stream its layers, everything after the resolution by digest and verified (SRC-OCI-5).
//!
//! Manifests are `oci-client`'s types. The requests are ours (DEP-OCI-1…5): credentials belong to one handle and
//! cannot reach another tenant's, a token server must be trustworthy before it gets a password, tag lists follow
//! `Link` headers of the same registry only, every body has a cap and every handle a deadline.

mod access;
mod error;
mod manifest;
mod reference;
mod registry;
mod repository;

pub use weir_http::{Profile, Proxy};

pub use self::access::Challenge;
pub use self::error::Error;
pub use self::manifest::{Descriptor, Manifest};
pub use self::reference::{Reference, ReferenceError, is_tag};
pub use self::registry::{
    Attachment, Blob, MAX_TAGS, Referrer, Registries, Registry, RegistryOptions, next_page, tags_of_page,
};
pub use self::repository::{Repository, RepositoryError};
