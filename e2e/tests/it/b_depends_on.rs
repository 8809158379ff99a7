//! B: what dependsOn waits for, and what Ready means.

use std::time::Duration;

use anyhow::Result;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::json;
use weir_e2e::World;
use weir_testkit::{GitRepo, touch_requested_at, wait_condition, wait_for, wait_not_ready, wait_ready};

const SOURCE: &str = include_str!("manifests/b-source.yaml");
const BACKEND: &str = include_str!("manifests/b-backend.yaml");
const FRONTEND: &str = include_str!("manifests/b-frontend.yaml");
const COMMON_APP: &str = include_str!("manifests/webapp/common.yaml");
const BACKEND_APP: &str = include_str!("manifests/webapp/backend.yaml");
const FRONTEND_APP: &str = include_str!("manifests/webapp/frontend.yaml");

const WIDGET: &str =
    "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w, namespace: webapp}\nspec: {size: 1}\n";

/// The lines of the article's `healthChecks` field.
const FRONTEND_HEALTH_CHECKS: &str =
    "  healthChecks:\n  - kind: Deployment\n    name: frontend\n    namespace: webapp\n";

const DEADLINE: Duration = Duration::from_secs(60);

/// Dependents are woken; Flux would look again after 30 s.
const AT_ONCE: Duration = Duration::from_secs(20);

struct Webapp {
    world: World,
    repo: GitRepo,
    kustomizations: Api<DynamicObject>,
}

impl Webapp {
    /// The article's preparation: source and webapp-common.
    async fn start() -> Result<Self> {
        let world = World::start().await?;
        let repo = world.git.repo("podinfo")?;
        let files = [
            ("deploy/webapp/common/common.yaml", COMMON_APP),
            ("deploy/webapp/backend/deployment.yaml", BACKEND_APP),
            ("deploy/webapp/frontend/deployment.yaml", FRONTEND_APP),
        ];
        repo.commit("master", "webapp", &files)?;
        let source = SOURCE.replace("https://github.com/stefanprodan/podinfo", &world.git.url("podinfo"));
        world.apply("", &source).await?;
        let kustomizations = world.api("Kustomization", "flux-system").await?;
        wait_ready(&kustomizations, "webapp-common", DEADLINE).await?;
        Ok(Self { world, repo, kustomizations })
    }

    /// Commits a Deployment's file, and waits until the source has the commit.
    async fn push(&self, name: &str, content: &str) -> Result<()> {
        let file = format!("deploy/webapp/{name}/deployment.yaml");
        let revision = format!("master@sha1:{}", self.repo.commit("master", "change", &[(&file, content)])?);
        let sources = self.world.api("GitRepository", "flux-system").await?;
        touch_requested_at(&sources, "webapp").await?;
        let stored = |object: Option<&DynamicObject>| {
            object.is_some_and(|object| object.data["status"]["artifact"]["revision"] == revision.as_str())
        };
        wait_for(&sources, "webapp", &revision, DEADLINE, stored).await?;
        Ok(())
    }

    /// Commits a backend of no Pods, which is healthy without a node.
    async fn push_healthy_backend(&self) -> Result<()> {
        let healthy =
            BACKEND_APP.replace("spec:\n  minReadySeconds", "spec:\n  replicas: 0\n  minReadySeconds");
        self.push("backend", &healthy).await
    }

    /// Waits until a Kustomization waits for health.
    async fn in_progress(&self, name: &str) -> Result<()> {
        wait_condition(&self.kustomizations, name, "Ready", "Unknown", Some("Progressing"), DEADLINE).await?;
        Ok(())
    }

    async fn not_ready(&self, name: &str, part: &str) -> Result<String> {
        Ok(wait_not_ready(&self.kustomizations, name, part, DEADLINE).await?.message)
    }
}

#[tokio::test]
async fn b1_a_missing_dependency_is_named() -> Result<()> {
    let webapp = Webapp::start().await?;
    webapp.world.apply("", FRONTEND).await?;
    let message = webapp.not_ready("webapp-frontend", "not found").await?;
    assert!(message.contains("flux-system/webapp-backend"), "{message}");
    assert!(message.contains(r#""webapp-backend" not found"#), "{message}");

    let printed = webapp.world.weir.cli(&["get", "kustomizations"]).await?;
    let header = printed.lines().next().unwrap_or_default().split_whitespace().collect::<Vec<_>>();
    assert_eq!(header, ["NAME", "REVISION", "SUSPENDED", "READY", "MESSAGE"]);
    let line = printed.lines().find(|line| line.starts_with("webapp-frontend")).unwrap_or_default();
    assert!(line.contains("False") && line.contains(r#""webapp-backend" not found"#), "{printed}");
    let line = printed.lines().find(|line| line.starts_with("webapp-common")).unwrap_or_default();
    assert!(line.contains("Applied revision: master@sha1:"), "{printed}");
    Ok(())
}

#[tokio::test]
async fn b2_and_b5_dependents_wait_for_health_and_start_at_once() -> Result<()> {
    let webapp = Webapp::start().await?;
    webapp.world.apply("", BACKEND).await?;
    webapp.world.apply("", FRONTEND).await?;

    // B2: without a node the Pods never get ready, as with the article's wrong probe.
    webapp.in_progress("webapp-backend").await?;
    webapp.not_ready("webapp-frontend", "dependency 'flux-system/webapp-backend' is not ready").await?;
    let printed = webapp.world.weir.cli(&["get", "kustomizations"]).await?;
    let line = printed.lines().find(|line| line.starts_with("webapp-backend")).unwrap_or_default();
    assert!(line.contains("Unknown"), "{printed}");

    // B5.
    webapp.push_healthy_backend().await?;
    wait_ready(&webapp.kustomizations, "webapp-backend", DEADLINE).await?;
    wait_ready(&webapp.kustomizations, "webapp-frontend", AT_ONCE).await?;
    Ok(())
}

#[tokio::test]
async fn b3_an_invalid_dependency_is_named_and_nothing_of_it_is_applied() -> Result<()> {
    let webapp = Webapp::start().await?;
    let invalid = BACKEND_APP.replacen("spec:", "hoge:", 1).replace("port: 9898", "port: 9999");
    webapp.push("backend", &invalid).await?;
    webapp.world.apply("", BACKEND).await?;
    webapp.world.apply("", FRONTEND).await?;

    // The API server drops the unknown field and misses the one that it stands for.
    let message = webapp.not_ready("webapp-backend", "Deployment/webapp/backend").await?;
    assert!(message.contains("spec.selector: Required value"), "{message}");
    webapp.not_ready("webapp-frontend", "dependency 'flux-system/webapp-backend' is not ready").await?;
    let services = webapp.world.api("Service", "webapp").await?;
    assert!(services.get_opt("backend").await?.is_none(), "the Service of the same stage was applied");
    let deployments = webapp.world.api("Deployment", "webapp").await?;
    assert!(deployments.get_opt("frontend").await?.is_none(), "the dependent did not wait");

    // Correcting it lets both go on.
    webapp.push_healthy_backend().await?;
    wait_ready(&webapp.kustomizations, "webapp-backend", DEADLINE).await?;
    wait_ready(&webapp.kustomizations, "webapp-frontend", AT_ONCE).await?;
    Ok(())
}

#[tokio::test]
async fn b4_without_health_checks_ready_means_applied() -> Result<()> {
    let webapp = Webapp::start().await?;
    webapp.push_healthy_backend().await?;
    let broken = FRONTEND_APP
        .replace("image: ghcr.io/stefanprodan/podinfo:5.0.3", "image: hoge")
        .replace("replicas: 0", "replicas: 1");
    webapp.push("frontend", &broken).await?;
    webapp.world.apply("", BACKEND).await?;
    assert!(FRONTEND.contains(FRONTEND_HEALTH_CHECKS));
    webapp.world.apply("", &FRONTEND.replace(FRONTEND_HEALTH_CHECKS, "")).await?;

    let ready = wait_ready(&webapp.kustomizations, "webapp-frontend", DEADLINE).await?;
    let head = webapp.repo.head("master")?;
    assert_eq!(ready.data["status"]["lastAppliedRevision"], format!("master@sha1:{head}"));
    let deployment = webapp.world.api("Deployment", "webapp").await?.get("frontend").await?;
    assert_eq!(deployment.data["spec"]["template"]["spec"]["containers"][0]["image"], "hoge");

    // With them Ready waits.
    webapp.world.apply("", FRONTEND).await?;
    webapp.in_progress("webapp-frontend").await
}

#[tokio::test]
async fn b4_health_checks_wait_for_toolkit_kinds_and_custom_resources() -> Result<()> {
    let webapp = Webapp::start().await?;
    webapp.world.plane.apply_yaml("", include_str!("manifests/widget-crd.yaml")).await?;
    let wanted = async || webapp.world.plane.api("example.com/v1", "Widget", "webapp").await.ok();
    let widgets = weir_testkit::eventually("the kind Widget", DEADLINE, wanted).await?;
    webapp.world.apply("", WIDGET).await?;
    set_ready(&widgets, "False").await?;

    webapp.world.apply("", include_str!("manifests/b-widget.yaml")).await?;
    webapp.push("widget", WIDGET).await?;
    webapp.in_progress("widget").await?;

    set_ready(&widgets, "True").await?;
    wait_ready(&webapp.kustomizations, "widget", AT_ONCE).await?;
    Ok(())
}

/// Writes the status that the widget's own controller would write.
async fn set_ready(widgets: &Api<DynamicObject>, status: &str) -> Result<()> {
    let conditions =
        json!([{"type": "Ready", "status": status, "reason": "Test", "message": "the test said so"}]);
    let status = json!({"status": {"observedGeneration": 1, "conditions": conditions}});
    widgets.patch_status("w", &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(())
}
