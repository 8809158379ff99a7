//! The source-controller as a process, against a real control plane, real registries and real Git servers.
// The answers that are read whole come from the servers of the test.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    missing_docs,
    unreachable_pub
)]

extern crate weir_replay as libfuzzer_sys;

mod adoption;
mod authorities;
mod bucket;
mod budget;
mod bytes;
mod chart_server;
mod deletion;
mod docs;
mod durability;
mod every_kind;
mod faults;
mod fuzz;
mod generator;
mod git;
mod git_content;
mod git_references;
mod git_safety;
mod git_transport;
mod grpc;
mod helm_chart;
mod helm_repository;
mod identity;
mod leaks;
mod legacy;
mod life;
mod logins;
mod many;
mod oci;
mod oci_content;
mod oci_history;
mod operations;
mod origin;
mod proxies;
mod retraction;
mod retries;
mod server;
mod settings;
mod standby;
mod stock_cli;
mod stock_consumers;
mod surroundings;
mod tenants;
mod transcript;
mod verify_chart;
mod verify_git;
mod verify_keyless;
mod verify_notation;
mod verify_oci;
mod verify_revocation;
mod world;
