#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::disallowed_methods)] // servers of a test end with its runtime
//! Tests of weir-artifact against real files, archives and an HTTP server.

extern crate weir_replay as libfuzzer_sys;

mod archives;
mod fetching;
mod fuzz;
mod hostile;
mod pieces;
mod runs;
mod storing;
mod unpacked;
