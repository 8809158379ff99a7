//! `weir migrate` (CLI-MIG01), on a control plane whose kinds were once stored in an older version.

use std::path::PathBuf;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};
use weir_testkit::{ControlPlane, flux_program};

use crate::weir::Weir;

const DEFINITION: &str = "widgets.example.toolkit.fluxcd.io";

fn definition(stored: &str) -> Value {
    let version = |name: &str| {
        json!({
            "name": name, "served": true, "storage": name == stored,
            "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
        })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": DEFINITION, "labels": { "app.kubernetes.io/part-of": "flux" } },
        "spec": {
            "group": "example.toolkit.fluxcd.io", "scope": "Namespaced", "versions": [version("v1beta1"), version("v1")],
            "names": { "kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget" },
        },
    })
}

/// A control plane with two objects that are stored as v1beta1, while v1 is the stored version now.
async fn plane() -> ControlPlane {
    let plane = ControlPlane::start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("widgets.yaml"), definition("v1beta1").to_string()).unwrap();
    plane.apply_crds(folder.path()).await.unwrap();
    for name in ["a", "b"] {
        let object = json!({
            "apiVersion": "example.toolkit.fluxcd.io/v1beta1", "kind": "Widget", "metadata": { "name": name }, "spec": { "size": 1 },
        });
        plane.apply("default", object).await.unwrap();
    }
    plane.apply("", definition("v1")).await.unwrap();
    plane
}

/// Runs the command twice; returns what it printed, the recorded versions and the versions of the objects' field managers.
async fn migrated(program: Option<PathBuf>) -> String {
    let plane = plane().await;
    let weir = Weir::default().with_kubeconfig(plane.kubeconfig_path());
    let weir = program.map_or(weir.clone(), |program| weir.with_program(&program));
    let mut transcript = weir.transcript(&["migrate", "migrate"]).await;
    let api: Api<CustomResourceDefinition> = Api::all(plane.client().unwrap());
    let stored = api.get(DEFINITION).await.unwrap().status.unwrap().stored_versions.unwrap();
    transcript.push_str(&format!("stored: {stored:?}\n"));
    let widgets = plane.api("example.toolkit.fluxcd.io/v1", "Widget", "default").await.unwrap();
    for name in ["a", "b"] {
        let widget = widgets.get(name).await.unwrap();
        let managers = widget.metadata.managed_fields.unwrap_or_default();
        let versions: Vec<_> = managers.into_iter().filter_map(|entry| entry.api_version).collect();
        transcript.push_str(&format!("{name}: {versions:?}\n"));
    }
    // The API server lets a version go only when no object may be stored in it.
    let without = json!({ "spec": { "versions": [definition("v1")["spec"]["versions"][1]] } });
    api.patch(DEFINITION, &PatchParams::default(), &Patch::Merge(without)).await.unwrap();
    transcript
}

#[tokio::test]
async fn objects_are_written_in_the_stored_version() {
    insta::assert_snapshot!(migrated(None).await);
}

#[tokio::test]
async fn flux_migrates_the_same() {
    let Some(program) = flux_program("FLUX_CLI").unwrap() else { return };
    assert_eq!(migrated(None).await, migrated(Some(program)).await);
}
