//! The kustomize service: keeps clusters equal to what Kustomizations ask for.
//!
//! ```text
//! source's artifact ─► files ─► build ─► manifests ─► weir-ssa: apply, prune ─► cluster
//!                                                        ▲                        │
//!                              Kustomization ◄─ status ──┴── ledger ◄── watches ──┘
//! ```
//!
//! Invariants: a tenant's objects are touched with the tenant's identity only; nothing of a stage is applied before all
//! of it has passed the server's dry-run; a reconcile that changes nothing costs at most one status write and one event.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

pub mod args;
mod budget;
pub mod build;
mod builds;
mod cluster;
pub mod decryption;
mod fetch;
mod files;
pub mod ignore;
mod kustomization;
mod mask;
mod metrics;
mod room;
mod rpc;
mod service;
mod source;
pub mod variables;

pub use cluster::kubeconfig;
pub use files::{ArtifactFiles, Metered};
pub use kustomization::{deletes, in_order, prune_refusal};
pub use service::{program, run};
