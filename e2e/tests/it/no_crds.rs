//! All services on a cluster that does not know one of their kinds yet.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result};
use weir_e2e::{Installation, NAMESPACE, WeirOptions, WeirProcess};
use weir_testkit::object::{git_repository, kustomization};
use weir_testkit::{ControlPlane, GitServer, repo_path, wait_ready};

const DEADLINE: Duration = Duration::from_secs(90);

/// Kinds that the metrics show as left out.
#[expect(clippy::disallowed_methods, reason = "the answer is our own process's")]
async fn left_out(weir: &WeirProcess) -> Result<BTreeSet<String>> {
    let metrics = reqwest::get(weir.metrics_url()).await?.text().await?;
    let series = metrics.lines().filter_map(|line| line.strip_prefix("weir_kind_absent{kind=\""));
    Ok(series.filter_map(|line| line.strip_suffix("\"} 1")).map(str::to_owned).collect())
}

#[tokio::test]
async fn services_start_without_their_kinds_and_work_on_them_when_they_come() -> Result<()> {
    let (plane, git) = tokio::try_join!(ControlPlane::start(), GitServer::start())?;
    plane.namespace(NAMESPACE).await?;
    let mut weir = WeirProcess::start(plane.weir_kubeconfig_path(), WeirOptions::default()).await?;
    let installation = Installation::with_components(&[])?;
    let kind = |crd: &serde_json::Value| {
        let kind = crd.pointer("/spec/names/kind").and_then(|kind| kind.as_str());
        kind.map(str::to_owned).context("a CRD names its kind")
    };
    let kinds: BTreeSet<_> =
        installation.objects_of("CustomResourceDefinition").map(kind).collect::<Result<_>>()?;
    assert_eq!(left_out(&weir).await?, kinds);

    plane.apply_crds(&repo_path("deploy/kustomize/crds")).await?;
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app, namespace: default}\n";
    git.repo("app")?.commit("main", "first", &[("app.yaml", object)])?;
    plane.apply("default", git_repository("app", &git.url("app"))).await?;
    plane.apply("default", kustomization("app", "GitRepository", "app", "./")).await?;
    let kustomizations = plane.api("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "default").await?;
    wait_ready(&kustomizations, "app", DEADLINE).await?;
    weir.check_running()
}
