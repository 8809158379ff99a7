//! `weir export` and `weir delete` (CLI-EXP01, CLI-DEL01).

use serde_json::json;

use crate::world::World;

const EXPORTS: [&str; 25] = [
    "export source git podinfo",
    "export source git --all",
    "export source oci podinfo",
    "export source bucket podinfo",
    "export source helm podinfo",
    "export source chart podinfo",
    "export source external podinfo",
    "export kustomization podinfo",
    "export ks --all",
    "export image repository podinfo",
    "export image policy podinfo",
    "export image update podinfo",
    "export receiver podinfo",
    "export alert-provider podinfo",
    "export alert podinfo",
    "export artifact generator podinfo",
    "export source git",
    "export source git nowhere",
    "export source git --all -n default",
    "export kustomization nowhere",
    "export kustomization podinfo/status",
    "export helmrelease --all",
    "export source git podinfo --with-credentials",
    "export --all ks",
    "export source --with-credentials chart podinfo",
];

/// One object of each kind, with fields that the API's types write in another way.
async fn world(namespace: &str) -> World {
    let world = World::new(namespace).await;
    for kind in [
        "OCIRepository",
        "Bucket",
        "HelmRepository",
        "HelmChart",
        "ExternalArtifact",
        "ArtifactGenerator",
        "ImageRepository",
        "ImageUpdateAutomation",
        "Receiver",
        "Provider",
        "Alert",
    ] {
        world.object(kind, "podinfo").await;
    }
    let spec = json!({
        "url": "https://example.com/x", "interval": "90m", "timeout": "1m", "ignore": "a\nb",
        "ref": { "branch": "main" }, "secretRef": { "name": "auth" },
    });
    world.object_with("GitRepository", "podinfo", spec).await;
    let spec = json!({
        "interval": "60m", "retryInterval": "90s", "prune": false, "path": "./deploy", "suspend": false, "wait": true,
        "sourceRef": { "kind": "GitRepository", "name": "podinfo" },
        "dependsOn": [{ "name": "a", "namespace": "b" }],
        "postBuild": { "substitute": { "on": "yes" }, "substituteFrom": [{ "kind": "ConfigMap", "name": "x" }] },
        "patches": [{ "patch": "- op: remove\n  path: /x\n", "target": { "kind": "Deployment" } }],
    });
    world.object_with("Kustomization", "podinfo", spec).await;
    let spec = json!({
        "imageRepositoryRef": { "name": "podinfo" }, "policy": { "semver": { "range": "6.x" } }, "filterTags": { "pattern": "^v" },
    });
    world.object_with("ImagePolicy", "podinfo", spec).await;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "auth" }, "stringData": { "username": "me" },
    });
    world.plane.apply(namespace, secret).await.unwrap();
    world
}

#[tokio::test]
async fn objects_are_printed_as_manifests() {
    insta::assert_snapshot!(world("export").await.weir().transcript(&EXPORTS).await);
}

#[tokio::test]
async fn flux_prints_the_same_manifests() {
    world("export-flux").await.weir().agrees_with_flux(&EXPORTS).await;
}

const ODD: [&str; 6] = [
    "export ks odd",
    "export source git odd",
    "export source bucket odd",
    "export source oci odd",
    "export source chart odd",
    "export alert odd",
];

/// Objects with fields that are empty, as templates write them, and with keys that some readers of YAML take for booleans.
async fn odd(namespace: &str) -> World {
    let world = World::new(namespace).await;
    let specs = [
        (
            "Kustomization",
            json!({
                "interval": "1m", "prune": true, "path": "", "serviceAccountName": "", "suspend": false, "force": false,
                "dependsOn": [{ "name": "a", "namespace": "", "readyExpr": "" }], "patches": [],
                "healthChecks": [{ "apiVersion": "", "kind": "Deployment", "name": "a", "namespace": "" }],
                "sourceRef": { "kind": "GitRepository", "name": "podinfo", "namespace": "" },
                "commonMetadata": { "labels": { "n": "x", "y": "no", "x": "" }, "annotations": { "on": "1", "~": "" } },
                "postBuild": { "substitute": { "A": "", "n": "off" } },
                "images": [{ "name": "a", "newName": "", "newTag": "v1" }],
            }),
        ),
        (
            "GitRepository",
            json!({ "url": "https://example.com/x", "interval": "1m", "ignore": "", "ref": { "branch": "", "tag": "v1" } }),
        ),
        (
            "Bucket",
            json!({ "bucketName": "b", "endpoint": "e.example.com", "interval": "1m", "region": "", "prefix": "" }),
        ),
        (
            "OCIRepository",
            json!({ "url": "oci://example.com/x", "interval": "1m", "serviceAccountName": "", "ref": { "tag": "", "semver": "1.x" } }),
        ),
        (
            "HelmChart",
            json!({ "chart": "c", "version": "", "interval": "1m", "sourceRef": { "kind": "HelmRepository", "name": "p", "apiVersion": "" } }),
        ),
        (
            "Alert",
            json!({ "providerRef": { "name": "p" }, "summary": "", "eventSources": [{ "kind": "Bucket", "name": "n" }] }),
        ),
    ];
    for (kind, spec) in specs {
        world.object_with(kind, "odd", spec).await;
    }
    world
}

#[tokio::test]
async fn empty_fields_are_left_out() {
    insta::assert_snapshot!(odd("export-odd").await.weir().transcript(&ODD).await);
}

#[tokio::test]
async fn flux_leaves_out_the_same_empty_fields() {
    odd("export-odd-flux").await.weir().agrees_with_flux(&ODD).await;
}

#[tokio::test]
async fn objects_are_deleted_when_confirmed() {
    let commands = [
        "delete kustomization podinfo",
        "delete kustomization podinfo --silent",
        "delete kustomization podinfo --silent",
        "delete -s source git podinfo",
        "delete image update podinfo -s",
        "delete alert podinfo -s",
        "delete receiver",
        "delete artifact generator podinfo -s",
        "get kustomizations",
    ];
    insta::assert_snapshot!(world("delete").await.weir().transcript(&commands).await);
}
