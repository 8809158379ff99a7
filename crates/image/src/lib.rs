//! Container images made from a program, without a container engine: `make images`, and the images of tests.
//!
//! ```text
//!   program ─► contents (shared objects, certificates) ─► Layer ─┐
//!                                     entry point, user, labels ─┴► Image ─► layout (a folder)
//! ```
//!
//! Invariant: equal files give equal bytes. Times, owners and the order of files are fixed, so that two builds have the same
//! digests.

mod contents;
mod error;
mod layer;
mod layout;
mod sbom;

pub use contents::{Contents, shared_objects};
pub use error::Error;
pub use layer::Layer;
pub use layout::{Blob, Image, ImageSettings, MANIFEST_TYPE};
pub use sbom::bill_of_materials;
