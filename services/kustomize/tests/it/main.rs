//! The service against a real control plane; only the artifacts are hand-made.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

extern crate weir_replay as libfuzzer_sys;

mod budget;
mod configs;
mod decryption;
mod deletion;
mod dependencies;
mod drift;
mod durability;
mod faults;
mod fuzz;
mod grpc;
mod hardships;
mod health;
mod logs;
mod memory;
mod mutation;
mod others;
mod patience;
mod process;
mod prune;
mod remote_bases;
mod remote_clusters;
mod restart;
mod revisions;
mod scale;
mod settings;
mod sources;
mod stock_cli;
mod stock_decryption;
mod stock_source;
mod suspension;
mod tenancy;
mod webhook;
mod world;
