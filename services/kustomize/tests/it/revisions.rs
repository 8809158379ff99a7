//! Revisions that change little, or everything.

use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use rstest::rstest;
use serde_json::json;
use weir_testkit::{condition, eventually};

use crate::world::{PATIENCE, World, cm, deployment};

/// Messages of the events about a Kustomization that are about a revision.
async fn events_of(world: &World, revision: &str) -> Vec<String> {
    let events = world.api("v1", "Event").await.list(&ListParams::default()).await.unwrap();
    let is_of = |event: &DynamicObject| {
        let annotations = event.metadata.annotations.as_ref();
        annotations
            .is_some_and(|it| it.get("kustomize.toolkit.fluxcd.io/revision").is_some_and(|it| it == revision))
    };
    let message = |event: DynamicObject| event.data["message"].as_str().unwrap_or_default().to_owned();
    events.items.into_iter().filter(is_of).map(message).collect()
}

/// KS-TST-2: a file beside the manifests changes, or the files are others and the objects the same.
#[rstest]
#[case::another_file("app/a.yaml", "2")]
#[case::other_files("app/b.yaml", "1")]
#[tokio::test(flavor = "multi_thread")]
async fn a_revision_with_the_same_manifests_is_told_by_one_event(#[case] path: &str, #[case] readme: &str) {
    let world = World::new().await;
    let a = cm("a", "1");
    world.source("src", 1, &[("app/a.yaml", &a), ("README.md", "1")]).await;
    world.kustomization("app", json!({"path": "./app"})).await;
    world.ready("app").await;
    let second = world.source("src", 2, &[(path, &a), ("README.md", readme)]).await;
    let applied = world.applied("app", &second).await;
    assert_eq!(applied.data["status"]["history"][0]["totalReconciliations"], json!(2));
    // Events leave in their order: what comes after those of the second revision is there when they are.
    let third = world.source("src", 3, &[("app/a.yaml", &cm("a", "3"))]).await;
    world.applied("app", &third).await;
    let finished = async || (events_of(&world, &third).await.len() == 2).then_some(());
    eventually("the events of the third revision", PATIENCE, finished).await.unwrap();
    let events = events_of(&world, &second).await;
    assert!(events.len() == 1 && events[0].starts_with("Reconciliation finished in "), "{events:?}");
}

/// KS-TST-13: a source without manifests prunes everything, unless there is a limit to that (docs/adr/0017).
#[rstest]
#[case::no_files(&[])]
#[case::nothing_in_the_list(&[("kustomization.yaml", "resources: []\n")])]
#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_becomes_empty_prunes_everything(#[case] nothing: &[(&str, &str)]) {
    let world = World::new().await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1")), ("b.yaml", &cm("b", "1"))]).await;
    world.kustomization("app", json!({})).await;
    world.ready("app").await;
    let api = world.kustomizations().await;
    let limit = async |limit: serde_json::Value| {
        let annotation = json!({"metadata": {"annotations": {"kustomize.weir.dev/prune-limit": limit}}});
        api.patch("app", &PatchParams::default(), &Patch::Merge(annotation)).await.unwrap()
    };
    limit(json!("1")).await;
    let second = world.source("src", 2, nothing).await;
    let refused = world.not_ready("app", "PruneRefused").await;
    let message = condition(&refused, "Ready").unwrap().message;
    assert!(message.starts_with("refused to prune 2 of 2 objects"), "{message}");
    assert!(world.config_map("a").await.is_some());

    limit(json!(null)).await;
    let emptied = world.applied("app", &second).await;
    assert_eq!(emptied.data["status"]["inventory"]["entries"], json!([]));
    assert!(world.config_map("a").await.is_none() && world.config_map("b").await.is_none());
}

/// KS-TST-18
#[tokio::test(flavor = "multi_thread")]
async fn common_metadata_that_is_taken_away_disappears() {
    let world = World::new().await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    let common = json!({"labels": {"team": "x"}, "annotations": {"note": "y"}});
    world.kustomization("app", json!({"commonMetadata": common})).await;
    world.ready("app").await;
    let found = async || {
        let metadata = world.config_map("a").await.unwrap().metadata;
        let (labels, annotations) =
            (metadata.labels.unwrap_or_default(), metadata.annotations.unwrap_or_default());
        (labels.get("team").cloned(), annotations.get("note").cloned())
    };
    assert_eq!(found().await, (Some("x".to_owned()), Some("y".to_owned())));
    world.kustomization("app", json!({})).await;
    let gone = async || (found().await == (None, None)).then_some(());
    eventually("the keys to disappear", PATIENCE, gone).await.unwrap();
}

/// KS-TST-25
#[tokio::test(flavor = "multi_thread")]
async fn a_kustomization_of_the_first_version_is_applied_with_its_patches() {
    let world = World::new().await;
    world.source("src", 1, &[("web.yaml", &deployment("web", 0))]).await;
    let strategic = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"patched": "strategic"}}});
    let operation = json!({"op": "add", "path": "/metadata/annotations", "value": {"patched": "json"}});
    let old = json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1beta1", "kind": "Kustomization",
        "metadata": {"name": "app"}, "spec": {"interval": "1h", "prune": true, "targetNamespace": world.ns,
            "sourceRef": {"kind": "GitRepository", "name": "src"}, "validation": "client",
            "patchesStrategicMerge": [strategic],
            "patchesJson6902": [{"target": {"kind": "Deployment", "name": "web"}, "patch": [operation]}],
            "healthChecks": [{"kind": "Deployment", "name": "web", "namespace": world.ns}]}});
    let api = world.api("kustomize.toolkit.fluxcd.io/v1beta1", "Kustomization").await;
    api.patch("app", &PatchParams::apply("test").force(), &Patch::Apply(old)).await.unwrap();
    let ready = world.ready("app").await;
    assert_eq!(condition(&ready, "Healthy").unwrap().status, "True");
    let metadata = world.api("apps/v1", "Deployment").await.get("web").await.unwrap().metadata;
    assert_eq!(metadata.labels.unwrap()["patched"], "strategic");
    assert_eq!(metadata.annotations.unwrap()["patched"], "json");
}
