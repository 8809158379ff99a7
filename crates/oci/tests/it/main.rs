#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
//! Tests of weir-oci against a real registry, and against one that misbehaves.

extern crate weir_replay as libfuzzer_sys;

mod attached;
mod blobs;
mod discretion;
mod fuzz;
mod misbehaving;
mod pulling;
mod pushing;

use weir_oci::{Registries, Registry, RegistryOptions, Repository};

fn open(address: &str, path: &str, options: RegistryOptions) -> Registry {
    let repository = Repository::parse(&format!("{address}/{path}")).unwrap();
    Registries::new().open(&repository, options).unwrap()
}

fn insecure() -> RegistryOptions {
    RegistryOptions { insecure: true, ..RegistryOptions::default() }
}
