//! The notification-controller as a process, against a real control plane and real HTTP servers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub
)]

extern crate weir_replay as libfuzzer_sys;

mod delivery;
mod durability;
mod events;
mod fuzz;
mod grpc;
mod logins;
mod nats;
mod operations;
mod stock;
mod telemetry;
mod tls;
mod webhooks;
mod world;
