//! Integration tests of the build engine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

extern crate weir_replay as libfuzzer_sys;

mod acceptance;
mod confinement;
mod conformance;
mod document;
mod errors;
mod fuzz;
mod hostile;
mod large;
mod later;
mod memory;
mod patches;
mod properties;
mod read_set;
mod reference;
mod remote;
mod replacements;
mod stop;
mod types;

use weir_kustomize::{Error, FsPath, MemoryFs, Options, Output, build};

/// Builds `directory` of an in-memory tree with Flux's options.
fn built(files: &[(&str, &str)], directory: &str) -> Result<Output, Error> {
    let fs = MemoryFs::from_files(files.iter().copied()).unwrap();
    build(&fs, &FsPath::new(directory).unwrap(), &Options::gitops())
}

/// A ConfigMap of this name.
fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n")
}
