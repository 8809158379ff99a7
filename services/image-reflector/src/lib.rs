//! Lists the tags of image repositories, keeps them, and resolves policies to the latest image.
//!
//! ```text
//! registry ─► ImageRepository (scan) ─► tag store ─► ImagePolicy (filter, order) ─► status.latestRef
//!                                                                               └─► gRPC stream of resolutions
//! ```
//!
//! # Invariants
//!
//! - The tag store is a cache: whatever is in it can be lost, and the next scan brings it back.
//! - Tags, and with them the revision of a scan, are in one order, whatever the registry's.
//! - Credentials come from the object's own namespace and go only to its registry (SEC-1, SEC-2).

mod access;
pub mod args;
mod feed;
mod image_name;
mod image_policy;
mod image_repository;
mod rpc;
mod service;
mod tag_store;
mod visited;

pub use service::{program, run};
