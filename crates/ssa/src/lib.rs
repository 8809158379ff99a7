//! Staged server-side apply: from a list of manifests to objects in a cluster, and back.
//!
//! ```text
//! manifests ─► normalise ─► stages ─► evaluate (dry-run, compare) ─► apply ─► ChangeSet ─► inventory
//!                                        ▲                             │
//!                                        └── Ledger: what was applied, what the watches have seen since
//! inventory (old − new) ─► prune                        Ledger ─► health without a poll
//! ```
//!
//! Invariants: an object that the ledger proves untouched costs no request; a stage is applied only after every object
//! of it has passed the server's dry-run; nothing is deleted that does not carry the owner's labels; the privileged
//! client is out of reach once a [`Session`] exists.
//!
//! This crate knows nothing of any one kind's business: owners, field managers and label names are given to it.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod apply;
mod change;
mod conflict;
mod diff;
mod drift;
mod error;
mod evaluate;
mod health;
mod id;
mod ignore;
mod impersonate;
mod inventory;
mod ledger;
mod live_object;
mod manifest;
mod mapper;
mod normalize;
mod order;
mod ownership;
mod policy;
mod precise;
mod probe;
mod prune;
mod replace;
mod request;
mod secret;
mod session;
mod stage;
mod successor;
mod undeclared;
mod watch;

pub use apply::{ApplyFailure, Settings};
pub use change::{Action, Change, ChangeSet};
pub use conflict::Conflict;
pub use diff::{Comparison, Difference};
pub use error::Error;
pub use id::{ObjectId, ParseIdError};
pub use ignore::IgnoreRules;
pub use impersonate::impersonate;
pub use inventory::{Entry, Record, stale};
pub use ledger::{Ledger, Notice, ends_by_itself};
pub use manifest::{Manifest, ManifestError, MetadataField};
pub use mapper::{Mapper, Mapping, MappingError};
pub use order::by_apply_order;
pub use policy::Owner;
pub use probe::{Judge, Probe, probe, read};
pub use prune::{Pruned, Remains};
pub use secret::decoded;
pub use session::Session;
pub use stage::{GroupKind, Stage};
pub use watch::Watches;
