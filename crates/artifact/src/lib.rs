//! Artifacts: the immutable archives that the source service makes and everyone else consumes.
//!
//! - [`Digest`], [`Revision`] and [`RelPath`] are the names in which artifacts are spoken of; each is checked once, when
//!   it is parsed.
//! - [`archive`] writes a [`Tree`] as a tarball whose bytes depend on the tree alone.
//! - [`ignore_rules`] reads the ignore files of a tree.
//! - [`Store`] keeps the files: written beside their final name, synced, renamed, and only then advertised. A large file
//!   lies in pieces that successive artifacts share; [`Opened`] reads both.
//! - [`fetch`] is the consumer's side: download, verify, and only then unpack.
//! - [`Untar`] unpacks what may be hostile: rooted paths, no links, caps on bytes, entries and depth ([`Limits`]).
//! - [`Room`] keeps all of that from filling the disk.

pub mod archive;
mod digest;
mod directory;
pub mod fetch;
mod ignore_files;
mod limits;
mod opened;
mod path;
mod revision;
mod room;
mod store;
mod untar;
mod work_folder;

pub use archive::{Tree, TreeEntry, TreeKind};
pub use digest::{Algorithm, Digest, DigestError, Hasher};
pub use directory::DirectoryTree;
pub use ignore_files::ignore_rules;
pub use limits::Limits;
pub use opened::Opened;
pub use path::{RelPath, RelPathError};
pub use revision::Revision;
pub use room::{NoRoom, Room, is_of_disk};
pub use store::{Location, Lock, PIECE_BYTES, STEPS, Store, StoreError, StoreOptions, Stored, VerifyError};
pub use untar::{FileEntry, FileMap, FileStack, Span, Symlinks, Unpacked, Untar, UntarError};
pub use work_folder::WorkFolder;
