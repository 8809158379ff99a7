//! Writes the images that policies select into Git: clone, edit marked YAML in place, commit, push by compare-and-swap.
//!
//! ```text
//! ImagePolicy.status, resolutions over gRPC ─┐
//! GitRepository, its Secret ─────────────────┴► observe ─► decide ─► act (checkout, edit, commit, push) ─► report
//! ```
//!
//! # Invariants
//!
//! - A ref moves only from the commit that the run has read: nobody's commit is ever lost (IU-14).
//! - The observed state is written down only after the push is acknowledged; a run that dies in between is repeated
//!   and finds nothing to do (IU-17).
//! - Policies, Secrets and refs of other namespaces are out of reach, the GitRepository's own excepted (SEC-2, SEC-3).

pub mod args;
mod git_source;
mod image_update_automation;
mod metrics;
mod policy;
mod resolution;
mod rpc;
mod selector;
mod service;
mod tree;

pub use service::{program, run};
