//! Manifests and statuses of earlier versions of Flux (A15, SRC-API-5…8, SRC-TYP-7).

use k8s_openapi::api::core::v1::Event;
use kube::api::{Patch, PatchParams};
use rstest::rstest;
use serde_json::{Value, json};
use weir_testkit::eventually;

use crate::every_kind::Remotes;
use crate::transcript::all_events;
use crate::world::{DEADLINE, World};

const CHART: &str = "HelmChart";

/// Fields that a version has and the newest one does not, or that it demands.
fn old_fields(kind: &str, version: &str) -> Value {
    let access = json!({"namespaceSelectors": [{"matchLabels": {"a": "b"}}]});
    match (kind, version) {
        ("GitRepository", _) => json!({"gitImplementation": "libgit2", "accessFrom": access}),
        ("Bucket" | "HelmRepository", _) => json!({"accessFrom": access}),
        (CHART, _) => json!({"valuesFile": "values.yaml", "accessFrom": access}),
        _ => json!({}),
    }
}

/// A15, SRC-API-5, SRC-API-7: manifests of old versions are taken word by word, and reconciled.
#[rstest]
#[case("v1beta2", 5)]
#[case("v1beta1", 4)]
#[tokio::test]
async fn manifests_of_old_versions_reconcile(#[case] version: &str, #[case] kinds: usize) {
    let (world, remotes) = (World::start().await, Remotes::start().await);
    let mut reconciled = 0;
    for (kind, mut spec) in remotes.sources() {
        // OCIRepository is younger than that version.
        if (kind, version) == ("OCIRepository", "v1beta1") {
            continue;
        }
        spec.as_object_mut().unwrap().extend(old_fields(kind, version).as_object().unwrap().clone());
        let api = format!("source.toolkit.fluxcd.io/{version}");
        let metadata = json!({"name": "app", "namespace": world.namespace});
        let manifest = json!({"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec});
        let file = world.folder.write("manifest.json", manifest.to_string()).unwrap();
        let file = file.display().to_string();
        world.plane.kubectl(&["apply", "--server-side", "--validate=strict", "-f", &file]).await.unwrap();
        let status = world.ready(kind, "app").await;
        assert!(status["artifact"]["digest"].is_string(), "{kind}: {status}");
        reconciled += 1;
    }
    assert_eq!(reconciled, kinds);
}

/// A revision as Flux wrote it before 0.40; that of a chart is its version, then as now.
fn as_of_old(revision: &str) -> String {
    match revision.split_once('@') {
        Some((name, hash)) => format!("{name}/{}", hash.split(':').next_back().unwrap()),
        None => revision.split(':').next_back().unwrap().to_owned(),
    }
}

async fn told(world: &World, kind: &str, reason: &str) -> usize {
    let of_kind = |event: &Event| {
        event.involved_object.kind.as_deref() == Some(kind) && event.reason.as_deref() == Some(reason)
    };
    let events = all_events(world).await.into_iter().filter(of_kind);
    usize::try_from(events.map(|event| event.count.unwrap()).sum::<i32>()).unwrap()
}

/// A15, SRC-TYP-7: another way to write the same revision is no news, neither for the source nor for a chart of it.
#[tokio::test]
async fn revisions_of_old_versions_are_no_news() {
    let (mut world, remotes) = (World::start().await, Remotes::start().await);
    let mut before = remotes.applied(&world).await;
    let repository = remotes.git.repo("charts").unwrap();
    repository
        .commit("main", "chart", &[("app/Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\n")])
        .unwrap();
    world.git("charts", &remotes.git.url("charts"), json!({})).await;
    let spec = json!({
        "chart": "app", "interval": "1h", "reconcileStrategy": "Revision",
        "sourceRef": {"kind": "GitRepository", "name": "charts"},
    });
    world.apply(CHART, "built", spec).await;
    let built = world.ready(CHART, "built").await;

    world.controller.kill();
    let charts = ("GitRepository", world.ready("GitRepository", "charts").await);
    let names = ["app", "app", "app", "app", "app", "charts"];
    before.push(charts);
    for ((kind, status), name) in before.iter().zip(names) {
        let revision = as_of_old(status["artifact"]["revision"].as_str().unwrap());
        let old = json!({"status": {"artifact": {"revision": revision}}});
        world.api(kind).await.patch_status(name, &PatchParams::default(), &Patch::Merge(old)).await.unwrap();
    }
    let old = json!({"status": {
        "observedSourceArtifactRevision": as_of_old(built["observedSourceArtifactRevision"].as_str().unwrap()),
    }});
    world.api(CHART).await.patch_status("built", &PatchParams::default(), &Patch::Merge(old)).await.unwrap();
    world.start_again(&[]);
    for ((kind, status), name) in before.iter().zip(names) {
        let after = world.reconciled(kind, name).await;
        for field in ["digest", "path", "lastUpdateTime"] {
            assert_eq!(after["artifact"][field], status["artifact"][field], "{kind}/{name}: {after:#}");
        }
        let trace = if *kind == "GitRepository" { "GitOperationSucceeded" } else { "ArtifactUpToDate" };
        // Events come in order: had there been news, they would be there now.
        let traced = async || (told(&world, kind, trace).await > 0).then_some(());
        eventually(&format!("{trace} of {kind}"), DEADLINE, traced).await.unwrap();
        let news = if *kind == CHART { "ChartPullSucceeded" } else { "NewArtifact" };
        let expected = if *kind == "GitRepository" { 2 } else { 1 };
        assert_eq!(told(&world, kind, news).await, expected, "{kind}/{name}");
    }
    let after = world.reconciled(CHART, "built").await;
    assert_eq!(after["artifact"], built["artifact"]);
}
