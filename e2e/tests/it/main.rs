//! The scenarios of the seed articles and what else users meet, played against `weir run` on a real control plane.
//!
//! The programs must be built first, with `cargo build --bins`; `make test` does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod a_prune;
mod b_depends_on;
mod bad_artifact;
mod bad_input;
mod c_image_loop;
mod d_first_contact;
mod e_generated;
mod examples;
mod five_processes;
mod grpc_status;
mod installations;
mod kill;
mod no_crds;
mod patches;
mod rights;
mod shards;
mod status_stream;
mod webhook_artifact;
