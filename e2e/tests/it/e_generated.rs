//! E: an artifact that is made of others is applied like any other (SRC-AGN, SRC-EXT-3).

use std::time::Duration;

use anyhow::Result;
use kube::api::DynamicObject;
use serde_json::json;
use weir_e2e::World;
use weir_testkit::object::git_repository;
use weir_testkit::{touch_requested_at, wait_for, wait_ready};

const DEADLINE: Duration = Duration::from_secs(60);

const OBJECTS: &str = "\
apiVersion: source.extensions.fluxcd.io/v1beta1
kind: ArtifactGenerator
metadata: {name: apps, namespace: flux-system}
spec:
  sources: [{alias: git, kind: GitRepository, name: app}]
  pathPattern: '@git/apps/{app}'
  artifacts:
    - name: '{app}'
      originRevision: '@git'
      copy:
        - {from: '@git/base/**', to: '@artifact/'}
        - {from: '@git/apps/{app}/**', to: '@artifact/'}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: web, namespace: flux-system}
spec:
  interval: 1h
  prune: true
  targetNamespace: default
  sourceRef: {kind: ExternalArtifact, name: web}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: api, namespace: flux-system}
spec:
  interval: 1h
  prune: true
  targetNamespace: default
  sourceRef: {kind: ExternalArtifact, name: api}
";

fn config(name: &str, value: u32) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{value: '{value}'}}\n")
}

/// A commit to one app of a repository is applied for that app alone.
#[tokio::test]
async fn e1_apps_of_one_repository_have_artifacts_of_their_own() -> Result<()> {
    let world = World::start().await?;
    let repo = world.git.repo("app")?;
    let (base, web, api) = (config("base", 1), config("web", 1), config("api", 1));
    let files = [("base/base.yaml", &*base), ("apps/web/web.yaml", &*web), ("apps/api/api.yaml", &*api)];
    repo.commit("main", "apps", &files)?;
    world.plane.apply("flux-system", git_repository("app", &world.git.url("app"))).await?;
    world.apply("", OBJECTS).await?;
    let kustomizations = world.api("Kustomization", "flux-system").await?;
    let first_web = wait_ready(&kustomizations, "web", DEADLINE).await?;
    let first_api = wait_ready(&kustomizations, "api", DEADLINE).await?;
    let config_maps = world.api("ConfigMap", "default").await?;
    for name in ["base", "web", "api"] {
        assert_eq!(config_maps.get(name).await?.data["data"]["value"], "1");
    }

    let head = repo.commit("main", "web", &[("apps/web/web.yaml", &config("web", 2))])?;
    touch_requested_at(&world.api("GitRepository", "flux-system").await?, "app").await?;
    let is_applied = |found: Option<&DynamicObject>| found.is_some_and(|it| it.data["data"]["value"] == "2");
    wait_for(&config_maps, "web", "the new value", DEADLINE, is_applied).await?;
    let origin = json!(format!("main@sha1:{head}"));
    let moved = |found: Option<&DynamicObject>| {
        found.is_some_and(|it| it.data["status"]["lastAppliedOriginRevision"] == origin)
    };
    let web = wait_for(&kustomizations, "web", "the commit as origin", DEADLINE, moved).await?;
    let revision = |object: &DynamicObject| object.data["status"]["lastAppliedRevision"].clone();
    assert_ne!(web.as_ref().map(revision), Some(revision(&first_web)));
    let api = kustomizations.get("api").await?;
    assert_eq!(revision(&api), revision(&first_api));
    Ok(())
}
