//! The source service: resolves what a source (`GitRepository`, `OCIRepository`, `Bucket`, `HelmRepository`, `HelmChart`) points at,
//! fetches it when it is new, and advertises it as an immutable artifact over HTTP and gRPC; an `ArtifactGenerator` makes artifacts of others.
//!
//! ```text
//!  remote ──► observe (secrets, revision) ──► decide (fetch or not) ──► act (fetch, pack, store) ──► report
//!                                                                         │
//!                                      HTTP :9090, gRPC Artifacts  ◄── Store (content on disk)
//! ```
//!
//! Invariants: an artifact is advertised after its file is whole on disk; nothing is fetched whose revision is already
//! stored with the same settings; a reconcile makes at most one status write and never waits on the reactor for disk,
//! compression or Git.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

pub mod args;
mod artifact_generator;
mod bucket;
mod catalog;
mod external_artifact;
mod git_repository;
mod helm_chart;
mod helm_repository;
mod login;
mod oci_repository;
pub mod preview;
mod rpc;
mod server;
mod service;
mod source;
mod standby;
mod storage;
mod sweep;
mod verification;

pub use artifact_generator::glob;
pub use service::{program, run};
