//! Commits that write newer images into manifests.

use std::path::Path;

use anyhow::Result;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use weir_testkit::GitServer;
use weir_testkit::object::git_repository;

use super::{IMAGE, NAMESPACE, Stage};
use crate::bench::scenarios::Results;
use crate::bench::{create, is_ready, names, request, wait_for_all};

const SOURCE: &str = "source.toolkit.fluxcd.io/v1";
/// The one policy, whose choice all manifests follow.
const POLICY: &str = "app";

pub(super) async fn play(
    results: &mut Results,
    maker: &'static str,
    program: &Path,
    size: usize,
) -> Result<()> {
    let git = GitServer::start().await?;
    for name in names(size) {
        git.repo(&name)?.commit("main", "first", &[("deploy/app.yaml", &manifest())])?;
    }
    let stage = Stage::start(maker, program, &[]).await?;
    choose(&stage).await?;
    let sources = stage.plane.api(SOURCE, "GitRepository", NAMESPACE).await?;
    create(&sources, size, |name| git_repository(name, &git.url(name))).await?;
    let automations = stage.plane.api(IMAGE, "ImageUpdateAutomation", NAMESPACE).await?;
    let pushed = async {
        create(&automations, size, automation).await?;
        let has = |object: &DynamicObject| {
            is_ready(object) && object.data.pointer("/status/lastPushCommit").is_some_and(Value::is_string)
        };
        wait_for_all(&automations, size, has).await
    };
    results.measure(&stage.subject(), "updates 1: pushed", size, pushed).await?;
    let again = request(&automations, size);
    results.measure(&stage.subject(), "updates 2: nothing to do", size, again).await
}

/// Makes the policy, which has chosen an image.
async fn choose(stage: &Stage) -> Result<()> {
    let policy = json!({"apiVersion": IMAGE, "kind": "ImagePolicy", "metadata": {"name": POLICY},
        "spec": {"imageRepositoryRef": {"name": POLICY}, "policy": {"alphabetical": {}}}});
    stage.plane.apply(NAMESPACE, policy).await?;
    let status = json!({"status": {"latestRef": {"name": "registry.example.com/app", "tag": "1.1.0"}}});
    let policies = stage.plane.api(IMAGE, "ImagePolicy", NAMESPACE).await?;
    policies.patch_status(POLICY, &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(())
}

fn automation(name: &str) -> Value {
    let author = json!({"name": "bot", "email": "bot@example.com"});
    json!({"apiVersion": IMAGE, "kind": "ImageUpdateAutomation", "metadata": {"name": name},
        "spec": {"interval": "1h", "sourceRef": {"kind": "GitRepository", "name": name},
            "git": {"commit": {"author": author}, "push": {"branch": "main"}},
            "update": {"strategy": "Setters", "path": "./deploy"}}})
}

fn manifest() -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app\nspec:\n  template:\n    spec:\n      containers:\n      \
         - name: app\n        image: registry.example.com/app:1.0.0 # {{\"$imagepolicy\": \"{NAMESPACE}:{POLICY}\"}}\n"
    )
}
