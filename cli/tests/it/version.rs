//! `weir version` (CLI-VER01).

use serde_json::json;

use crate::weir::Weir;
use crate::world::World;

#[tokio::test]
async fn the_version_of_the_command_needs_no_cluster() {
    let commands = [
        "--version",
        "version --client",
        "version --client -o json",
        "version",
        "version -o xml",
        "version --client -n Not_A_Label",
    ];
    let transcript = Weir::default().transcript(&commands).await;
    insta::assert_snapshot!(transcript.replace(env!("CARGO_PKG_VERSION"), "[version]"));
}

#[tokio::test]
async fn installed_services_are_told_by_their_images() {
    let world = World::new("versions").await;
    for name in ["source-controller", "kustomize-controller"] {
        let labels = json!({ "app.kubernetes.io/part-of": "flux" });
        let tag = if name == "source-controller" { ":v1.2.3" } else { "" };
        let image = format!("localhost:5000/weir/{name}{tag}@sha256:{}", "a".repeat(64));
        let deployment = json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": { "name": name, "labels": labels },
            "spec": {
                "replicas": 0,
                "selector": { "matchLabels": { "app": name } },
                "template": {
                    "metadata": { "labels": { "app": name } },
                    "spec": { "containers": [{ "name": "manager", "image": image }] },
                },
            },
        });
        world.plane.apply(&world.namespace, deployment).await.unwrap();
    }
    let commands = ["version", "version --output json", "version -n default"];
    let transcript = world.weir().transcript(&commands).await;
    insta::assert_snapshot!(transcript.replace(env!("CARGO_PKG_VERSION"), "[version]"));
}
