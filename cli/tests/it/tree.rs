//! `weir tree` (CLI-TRE01, CLI-TRE02).

use serde_json::json;

use crate::world::{World, ready, with};

const COMMANDS: [&str; 15] = [
    "tree kustomization podinfo",
    "tree ks podinfo --compact",
    "tree ks podinfo -o json",
    "tree ks podinfo -o yaml",
    "tree ks podinfo --output=other",
    "tree ks nested",
    "tree ks remote",
    "tree ks new",
    "tree ks torn",
    "tree ks nowhere",
    "tree ks",
    "tree artifact generator podinfo",
    "tree artifact generator podinfo -o json",
    "tree artifact generator podinfo -o yaml",
    "tree artifact generator nowhere",
];

/// A Kustomization that applies another one and a HelmRelease, one that applies to another cluster, one that has applied
/// nothing, one whose child is gone, and one that applies itself by way of another one.
async fn world(namespace: &str) -> World {
    let world = World::with_helm(namespace).await;
    let kustomization = |name| format!("{namespace}_{name}_kustomize.toolkit.fluxcd.io_Kustomization");
    let release = format!("{namespace}_podinfo_helm.toolkit.fluxcd.io_HelmRelease");
    let ids = |ids: &[&str]| {
        let entries: Vec<_> = ids.iter().map(|id| json!({ "id": id, "v": "v1" })).collect();
        json!({ "inventory": { "entries": entries } })
    };
    let applied = [
        (
            "podinfo",
            ids(&[
                "_apps__Namespace",
                &kustomization("podinfo"),
                &kustomization("nested"),
                "apps_podinfo_apps_Deployment",
            ]),
        ),
        (
            "nested",
            ids(&["apps_x__ConfigMap", &release, "__system__node_rbac.authorization.k8s.io_ClusterRole"]),
        ),
        ("remote", ids(&[&kustomization("nested"), "apps_x__ConfigMap"])),
        ("new", json!({})),
        ("torn", ids(&[&kustomization("gone")])),
        ("ring", ids(&[&kustomization("round")])),
        ("round", ids(&[&kustomization("ring")])),
    ];
    for (name, inventory) in applied {
        let mut spec = json!({ "interval": "10m", "prune": true, "sourceRef": { "kind": "GitRepository", "name": "podinfo" } });
        if name == "remote" {
            spec["kubeConfig"] = json!({ "secretRef": { "name": "there" } });
        }
        world.object_with("Kustomization", name, spec).await;
        world.status("Kustomization", name, with(ready(1, "True", "Succeeded", "Applied"), inventory)).await;
    }
    world.release("podinfo", json!({ "install": { "crds": "Create" } })).await;
    world.object("ArtifactGenerator", "podinfo").await;
    let entry = |name| json!({ "name": name, "namespace": namespace, "digest": "sha256:0123", "filename": "a.tar.gz" });
    let inventory = json!({ "inventory": [entry("podinfo"), entry("other")] });
    world
        .status("ArtifactGenerator", "podinfo", with(ready(1, "True", "Succeeded", "Made"), inventory))
        .await;
    world
}

#[tokio::test]
async fn an_object_is_shown_with_what_it_applies() {
    insta::assert_snapshot!(world("tree").await.weir().transcript(&COMMANDS).await);
}

#[tokio::test]
async fn flux_shows_the_same_trees() {
    world("tree-flux").await.weir().agrees_wholly_with_flux(&COMMANDS).await;
}

#[tokio::test]
async fn a_ring_of_kustomizations_has_an_end() {
    insta::assert_snapshot!(world("ring").await.weir().transcript(&["tree ks ring"]).await);
}
