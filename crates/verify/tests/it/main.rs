//! Signatures made by the programs that people sign with, and by hand where those refuse.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

extern crate weir_replay as libfuzzer_sys;

mod cosign;
mod fuzz;
mod git_openpgp;
mod git_signing;
mod git_ssh;
mod notation;

use std::collections::BTreeMap;

/// A Secret with these entries.
fn secret(entries: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
    entries.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect()
}
