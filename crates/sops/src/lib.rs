//! SOPS documents: encrypted files that anyone may read and only holders of a key can decrypt (KS-SOPS-1 to KS-SOPS-7).
//!
//! ```text
//! bytes ─► Document::read ─► Document { tree, Metadata }
//!                                │ data_key(&dyn KeyService): one key of a group, or several groups' shares
//!                                ▼
//!                        Document::decrypt(&DataKey) ─► Plain ─► Plain::write(Format)
//! ```
//!
//! [`Keyring`] is the key service of keys at hand: age, SSH and OpenPGP. Those that a server keeps (AWS, Azure, Google
//! Cloud, Vault) are elsewhere, behind the trait [`KeyService`]. Nothing here reads a file, an environment or a network.
//!
//! Plaintext is in types that are overwritten when they are dropped, and is part of no error.

mod cipher;
mod data_key;
mod document;
mod error;
mod format;
mod identity;
mod mac;
mod master_key;
mod metadata;
mod openpgp;
mod post_quantum;
mod report;
mod scope;
mod shamir;
mod tree;
mod walk;

pub use data_key::{DataKey, KeyService, Keyring};
pub use document::{Document, Plain};
pub use error::{CipherError, Error, FormatError, KeyError, MetadataError};
pub use format::Format;
pub use identity::{Identities, IdentityError};
pub use mac::Mac;
pub use master_key::MasterKey;
pub use metadata::{KeyGroup, Metadata};
pub use openpgp::{OpenPgpError, SecretKeys};
pub use scope::ScopeRule;
pub use tree::{Element, Member, Node, Value};
