//! Parts of a run, for tests.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_ssa::Owner;

use super::attempt::Attempt;
use super::health::Check;
use super::memory::Inputs;
use super::{Overtaken, Settings};

/// The settings without any flag.
pub(crate) fn settings() -> Settings {
    Settings {
        requeue_dependency: "30s".parse().unwrap(),
        watched: None,
        no_cross_namespace_refs: false,
        has_external_artifacts: true,
        workload_identity: false,
        adds_ready_expr: false,
        is_strict: true,
        fails_fast: true,
        concurrent_ssa: 4,
        overridden_managers: Vec::new(),
        custom_stage: Vec::new(),
        overtaken: Overtaken::GivesWay,
        migrates_versions: false,
        groups_change_log: false,
        prune_limit: Default::default(),
    }
}

/// A run that has got an artifact, and nothing else.
pub(super) fn attempt() -> Attempt {
    Attempt { is_attempted: true, ..Attempt::of("main@sha1:1".into(), Instant::now()) }
}

/// The inputs of a generation.
pub(super) fn inputs(generation: i64) -> Inputs {
    Inputs {
        artifact: "sha256:1".into(),
        uid: String::new(),
        generation,
        variables: 0,
        keys: 0,
        target: None,
    }
}

/// A health check of nothing, which begins now.
pub(super) fn check(timeout: Duration) -> Check {
    Check {
        targets: Vec::new(),
        short_jobs: Arc::default(),
        started: Instant::now(),
        timeout,
        custom: Arc::default(),
        owner: Owner {
            group: "kustomize.toolkit.fluxcd.io".into(),
            name: "app".into(),
            namespace: "flux-system".into(),
        },
        hides_others: false,
    }
}
