//! Charts and indexes, good and hostile, and repositories over HTTP.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

extern crate weir_replay as libfuzzer_sys;

mod charts;
mod fuzz;
mod hostile;
mod indexes;
mod memory;
mod packages;
mod repositories;
