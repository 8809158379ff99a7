//! The notification service: takes events and sends them to people and systems; takes webhooks and requests
//! reconciliations.
//!
//! ```text
//!  events ──► event_server ─┐                                             ┌─► provider (render) ─► delivery (send)
//!  gRPC   ──► rpc ──────────┴─► intake (dedupe, match) ─► outbox ─► dispatch (guards)
//!
//!  webhooks ──► webhook_server ─► receiver (verify, filter, mark) ─► annotation on objects
//! ```
//!
//! # Invariants
//!
//! - An event that was answered with 202 and that an Alert asks for is on disk: no kill loses it.
//! - Rendering is pure, one file per provider type; there is one place that sends, and one that masks secrets.
//! - A webhook is believed only after its signature or token was compared in constant time.
//! - The service never feeds its own events into itself.

pub mod alert;
pub mod args;
pub mod dedupe;
pub mod delivery;
pub mod dispatch;
pub mod event;
pub mod event_server;
pub mod http_server;
pub mod intake;
pub mod kind;
pub mod metrics;
pub mod outbox;
pub mod provider;
pub mod receiver;
pub mod rpc;
mod service;
pub mod tasks;
pub mod webhook_server;

pub use service::{program, run};

/// Field manager of what this service changes on objects of others.
pub(crate) const FIELD_MANAGER: &str = "notification-controller";
