//! The command as users run it: whole outputs, against a real API server where there is one to talk to.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod artifact;
mod bootstrap;
mod bootstrap_hosted;
mod bootstrap_signing;
mod build;
mod build_kustomization;
mod cloud_logins;
mod completion;
mod create;
mod debug;
mod demo;
mod diff_kustomization;
mod environment;
mod envsubst;
mod events;
mod examples;
mod export;
mod feature_gates;
mod forms;
mod get;
mod help;
mod install;
mod install_script;
mod logs;
mod migrate;
mod nodes;
mod oidc;
mod plan;
mod plugin;
mod reconcile;
mod resume;
mod run;
mod sops;
mod stats;
mod suspend;
mod trace;
mod tree;
mod trigger;
mod twins;
mod vendor;
mod version;
mod watch;
mod weir;
mod why;
mod world;

/// A test file that nobody lists is a test that never runs.
#[test]
fn every_test_file_is_listed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let listed = include_str!("main.rs");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(module) = name.strip_suffix(".rs").filter(|module| *module != "main") else { continue };
        assert!(listed.contains(&format!("mod {module};")), "{name} is not listed in main.rs");
    }
}
