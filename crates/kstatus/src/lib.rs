//! The progress of a Kubernetes object: the status that `kstatus` (Flux's fork of cli-utils) gives it.
//!
//! ```text
//! object (JSON) ──► Job table ─────────────────────────────┐
//!              └──► generic: deletion, generation,         ├──► Assessment { status, message }
//!                   Reconciling, Stalled ──► kind's table ─┤
//!                                        └─► Ready ─► Current
//! ```
//!
//! Invariants: no clock (the caller passes `now`), no IO, no panic on any JSON. An object whose status cannot be
//! computed is [`Status::Unknown`] with the reason as its message, so that one odd object never ends a health check.
//! Reading Pods for StatefulSets and ReplicaSets is the caller's: see [`assess_pods`].

mod assess;
mod builtin;
mod fields;
mod status;

pub use assess::{assess, assess_pods};
pub use status::{Assessment, Status};

#[cfg(test)]
mod tests;
