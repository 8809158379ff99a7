//! `weir debug` (CLI-DBG01).

use serde_json::json;

use crate::world::{World, ready, with};

const COMMANDS: [&str; 22] = [
    "debug kustomization podinfo --show-status",
    "debug ks podinfo --show-vars",
    "debug ks podinfo --show-history",
    "debug ks plain --show-vars",
    "debug ks plain --show-status",
    "debug ks plain --show-history",
    "debug ks torn --show-vars",
    "debug ks podinfo",
    "debug ks podinfo --show-vars --show-status",
    "debug ks nowhere --show-status",
    "debug ks --show-status",
    "debug helmrelease podinfo --show-status",
    "debug hr podinfo --show-values",
    "debug hr paths --show-values",
    "debug hr blocked --show-values",
    "debug hr podinfo --show-history",
    "debug hr plain --show-values",
    "debug hr plain --show-history",
    "debug hr torn --show-values",
    "debug hr keyless --show-values",
    "debug hr podinfo",
    "debug hr nowhere --show-values",
];

async fn world(namespace: &str) -> World {
    let world = World::with_helm(namespace).await;
    let kind = |kind: &str, name: &str, field: &str, data| json!({ "apiVersion": "v1", "kind": kind, "metadata": { "name": name }, field: data });
    for object in [
        kind("ConfigMap", "settings", "data", json!({ "region": "eu\n", "color": "blue" })),
        kind(
            "Secret",
            "token",
            "stringData",
            json!({ "token": "s3cr3t", "color": "red", "port": "8080", "text": "'1.20'" }),
        ),
        kind(
            "ConfigMap",
            "values",
            "data",
            json!({ "values.yaml": "image: {tag: v1, pull: yes}\nlist: [1, 2]\nleft: null\n" }),
        ),
        kind(
            "Secret",
            "paths",
            "stringData",
            json!({ "flag": "True", "line": "8080\n", "many": "1,zones={a,b}", "literal": "{a},b\n" }),
        ),
        kind("Secret", "more", "stringData", json!({ "other.yaml": "image:\n  tag: v2\nratio: 0.5\n" })),
    ] {
        world.plane.apply(namespace, object).await.unwrap();
    }
    let source = json!({ "kind": "GitRepository", "name": "podinfo" });
    let spec = |post_build| json!({ "interval": "10m", "prune": true, "sourceRef": source, "postBuild": post_build });
    let from = |name: &str| json!({ "kind": "ConfigMap", "name": name });
    let post_build = json!({
        "substitute": { "color": "gre\nen", "zone": "1" },
        "substituteFrom": [from("settings"), { "kind": "Secret", "name": "token" }, { "kind": "ConfigMap", "name": "none", "optional": true }],
    });
    world.object_with("Kustomization", "podinfo", spec(post_build)).await;
    world.object_with("Kustomization", "torn", spec(json!({ "substituteFrom": [from("none")] }))).await;
    world.object("Kustomization", "plain").await;
    let history = json!({ "lastAppliedRevision": "main@sha1:0123", "history": [{
        "digest": "sha256:0123", "firstReconciled": "2022-02-03T01:37:54Z", "lastReconciled": "2022-02-03T02:37:54Z",
        "lastReconciledDuration": "42ms", "lastReconciledStatus": "ReconciliationSucceeded", "totalReconciliations": 3,
        "metadata": { "revision": "main@sha1:0123" },
    }] });
    let status =
        with(ready(1, "True", "ReconciliationSucceeded", "Applied revision: main@sha1:0123"), history);
    world.status("Kustomization", "podinfo", status).await;
    releases(&world).await;
    world
}

async fn releases(world: &World) {
    let reference = |kind: &str, name: &str, key: &str, path: &str| json!({ "kind": kind, "name": name, "valuesKey": key, "targetPath": path });
    let spec = json!({
        "values": { "image": { "tag": "v3" }, "replicas": 2 },
        "valuesFrom": [
            { "kind": "ConfigMap", "name": "values" },
            { "kind": "Secret", "name": "more", "valuesKey": "other.yaml" },
            { "kind": "Secret", "name": "none", "optional": true },
            reference("Secret", "token", "port", "service.ports[1].port"),
            reference("Secret", "token", "text", "image.tag"),
        ],
    });
    world.release("podinfo", spec).await;
    let at = |key: &str, path: &str| reference("Secret", "paths", key, path);
    let mut literal = at("literal", "literal");
    literal["literal"] = true.into();
    let spec = json!({
        "values": { "image": { "tag": "v3" }, "name": "podinfo" },
        "valuesFrom": [at("flag", "image.tag"), at("line", "port"), at("many", r"a\.b[1]"), literal],
    });
    world.object_with("HelmRelease", "paths", spec).await;
    let spec = json!({ "values": { "name": "podinfo" }, "valuesFrom": [at("flag", "name.first")] });
    world.object_with("HelmRelease", "blocked", spec).await;
    world.object_with("HelmRelease", "plain", json!({ "interval": "1m" })).await;
    let torn = json!({ "valuesFrom": [{ "kind": "ConfigMap", "name": "none" }] });
    world.object_with("HelmRelease", "torn", torn).await;
    let keyless = json!({ "valuesFrom": [{ "kind": "ConfigMap", "name": "settings" }] });
    world.object_with("HelmRelease", "keyless", keyless).await;
}

#[tokio::test]
async fn the_status_and_what_references_come_to_are_printed() {
    insta::assert_snapshot!(world("debug").await.weir().transcript(&COMMANDS).await);
}

#[tokio::test]
async fn flux_prints_the_same() {
    world("debug-flux").await.weir().agrees_wholly_with_flux(&COMMANDS).await;
}
