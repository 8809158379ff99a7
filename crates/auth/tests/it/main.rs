#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
//! Logins through a proxy that leads the clouds' host names to stand-ins, with TLS as the clouds have it; Kubernetes is a
//! real API server.

extern crate weir_replay as libfuzzer_sys;

mod aws;
mod azure;
mod bucket;
mod cluster;
mod fuzz;
mod gcp;
mod github;
mod lockdown;
mod world;
