//! The crate beside what the real program has made (`tests/data/make.sh`), and beside the program itself (`SOPS_BIN`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

extern crate weir_replay as libfuzzer_sys;

mod fuzz;
mod interop;
mod keys;
mod refusals;
