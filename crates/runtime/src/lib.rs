//! The parts that every Weir service has: flags, logs, metrics, probes, leader election, watch caches, the work
//! queue, the reconcile loop with its single report, events, and the gRPC server with its authentication.
//!
//! ```text
//!  Kubernetes watch ──► Cache ──► Queue ──► Controller ──► Reconciler (a service: observe, decide, act)
//!                        ▲                     │
//!                        └──── status patch ◄── report ──► events ──► Kubernetes Events, notification
//! ```
//!
//! # Invariants
//!
//! - Only [`controller`]'s report writes the status, finalizers, events and metrics of an object, at most one status patch a run.
//! - At most one run per object; a run never sleeps, it returns what it waits for ([`Next`]).
//! - Telling people never delays a run: events leave through a bounded outbox.
//! - Nothing in here knows a single kind or service.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

pub mod args;
pub mod cache;
pub mod certificate;
pub mod client;
pub mod condition;
pub mod connections;
pub mod controller;
pub mod environment;
pub mod event;
mod failure;
pub mod gate;
pub mod grpc;
mod issuer;
pub mod killpoint;
pub mod leader;
pub mod log;
pub mod metrics;
pub mod probe;
pub mod queue;
pub mod service;

pub use cache::{Cache, Cached, Change, Index, ObjectKey};
pub use controller::{Finalized, Next, Outcome, Reconciler, Run, request_reconcile};
pub use environment::{Environment, hostname};
pub use event::{EventDraft, EventSink, Severity};
pub use failure::Failure;
pub use queue::{Cause, Queue};
pub use service::{Program, Service, ServiceError, bind, run_together, service_main};
