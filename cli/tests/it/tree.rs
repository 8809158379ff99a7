//! `weir tree` (CLI-TRE01, CLI-TRE02).

use kube::api::{Patch, PatchParams};
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

/// Many Kustomizations below one are found by the labels that they have from it; one without them is asked for by its name, and so are
/// all for users who may not list.
#[tokio::test]
async fn many_kustomizations_are_listed_at_once() {
    let world = World::with_helm("tree-many").await;
    let id = |name: &str| format!("tree-many_{name}_kustomize.toolkit.fluxcd.io_Kustomization");
    let children: Vec<_> = (0..6).map(|number| format!("child-{number}")).collect();
    for name in children.iter().map(String::as_str).chain(["root"]) {
        world.object("Kustomization", name).await;
    }
    let kustomizations = world.api("Kustomization").await;
    let labels = json!({ "metadata": { "labels": {
        "kustomize.toolkit.fluxcd.io/name": "root", "kustomize.toolkit.fluxcd.io/namespace": "tree-many",
    } } });
    for name in &children[..5] {
        kustomizations.patch(name, &PatchParams::default(), &Patch::Merge(&labels)).await.unwrap();
    }
    let entries: Vec<_> = children.iter().map(|name| json!({ "id": id(name), "v": "v1" })).collect();
    world.status("Kustomization", "root", json!({ "inventory": { "entries": entries } })).await;

    let everything = ("kustomize.toolkit.fluxcd.io", &["kustomizations"][..]);
    let mut trees = Vec::new();
    for (user, verbs) in [("lister", &["get", "list"][..]), ("getter", &["get"])] {
        let token = world.plane.token_for("tree-many", user, everything, verbs).await.unwrap();
        let weir = world.weir().with_kubeconfig(&world.plane.kubeconfig_for(&token).unwrap());
        trees.push(weir.transcript(&["tree ks root"]).await);
        let asked: Vec<_> = world
            .plane
            .audited_requests()
            .unwrap()
            .into_iter()
            .filter(|it| {
                it.user.ends_with(&format!("tree-many:{user}"))
                    && it.verb == "get"
                    && it.resource == "kustomizations"
            })
            .map(|it| it.name)
            .collect();
        let expected: Vec<_> = match user {
            "lister" => vec!["child-5".to_owned(), "root".to_owned()],
            _ => children.iter().cloned().chain(["root".to_owned()]).collect(),
        };
        assert_eq!(asked, expected);
    }
    assert_eq!(trees[0], trees[1]);
    assert_eq!(trees[0].matches("Kustomization/tree-many/child-").count(), 6, "{}", trees[0]);
}
