//! The fuzz targets of weir-expression as tests, and its results beside those of cel-go.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

extern crate weir_replay as libfuzzer_sys;

mod cel_go;
mod fuzz;
