//! The runtime against a real API server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

extern crate weir_replay as libfuzzer_sys;

mod absent;
mod election;
mod events;
mod fuzz;
mod peers;
mod reconcile;
mod status;
mod tls;
mod world;
