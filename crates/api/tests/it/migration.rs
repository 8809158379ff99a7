//! A cluster of an older Flux is taken over: its objects are read, and what `flux migrate` does to them and to the
//! definitions works (SRC-API-8, SRC-API-9).

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use weir_api::{Bucket, HelmChart, HelmRepository};
use weir_testkit::{ControlPlane, repo_path};

use super::full_text;

const OLD: &str = "source.toolkit.fluxcd.io/v1beta2";
const NEW: &str = "source.toolkit.fluxcd.io/v1";

fn object(kind: &str, spec: Value) -> Value {
    json!({ "apiVersion": OLD, "kind": kind, "metadata": { "name": "app" }, "spec": spec })
}

fn old_objects() -> [(&'static str, Value); 3] {
    let source = json!({ "kind": "HelmRepository", "name": "app" });
    [
        (
            "Bucket",
            json!({ "bucketName": "x", "endpoint": "x", "interval": "1m", "accessFrom": { "namespaceSelectors": [] } }),
        ),
        ("HelmRepository", json!({ "url": "https://charts.example.com", "interval": "1m" })),
        (
            "HelmChart",
            json!({ "chart": "app", "interval": "1m", "sourceRef": source, "valuesFile": "a.yaml" }),
        ),
    ]
}

/// Installs the definitions as an older Flux had them: with v1beta2 as the version that is stored.
async fn install_old(plane: &ControlPlane) {
    for mut definition in weir_api::crd::all().unwrap() {
        let versions = definition.object["spec"]["versions"].as_array_mut().unwrap();
        if versions.iter().all(|version| version["name"] != "v1beta2") {
            continue;
        }
        for version in versions {
            version["storage"] = json!(version["name"] == "v1beta2");
        }
        plane.apply("", definition.object).await.unwrap();
    }
}

/// Rewrites an object as `flux migrate` does: the version in its managed fields becomes the new one, and whatever is
/// written is stored in it.
async fn migrate(api: &Api<DynamicObject>, name: &str, version: &str) {
    let before = api.get(name).await.unwrap();
    let mut fields = serde_json::to_value(before.managed_fields()).unwrap();
    for manager in fields.as_array_mut().unwrap() {
        manager["apiVersion"] = json!(version);
    }
    let patch = json!([{ "op": "replace", "path": "/metadata/managedFields", "value": fields }]);
    let patch: json_patch::Patch = serde_json::from_value(patch).unwrap();
    api.patch(name, &PatchParams::default(), &Patch::<()>::Json(patch)).await.unwrap();
}

#[tokio::test]
async fn objects_and_definitions_of_an_older_flux_are_migrated() {
    let plane = ControlPlane::start().await.unwrap();
    install_old(&plane).await;
    let namespace = plane.unique_namespace("migration").await.unwrap();
    for (kind, spec) in old_objects() {
        wait_until_served(&plane, kind).await;
        plane.apply(&namespace, object(kind, spec)).await.unwrap();
        let status = json!({ "status": { "observedGeneration": 1, "artifact": {
            "checksum": "c", "path": "p", "url": "http://old", "revision": "r", "lastUpdateTime": "2022-02-03T01:37:54Z" } } });
        let api = plane.api(OLD, kind, &namespace).await.unwrap();
        api.patch_status("app", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    }

    plane.apply_crds(&repo_path("deploy/kustomize/crds")).await.unwrap();
    let client = plane.client().unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for (kind, plural) in
        [("Bucket", "buckets"), ("HelmRepository", "helmrepositories"), ("HelmChart", "helmcharts")]
    {
        let name = format!("{plural}.source.toolkit.fluxcd.io");
        let stored = async || definitions.get(&name).await.unwrap().status.unwrap().stored_versions.unwrap();
        assert_eq!(stored().await, ["v1beta2", "v1"], "{kind}");
        migrate(&plane.api(NEW, kind, &namespace).await.unwrap(), "app", NEW).await;
        let patch = Patch::Merge(json!({ "status": { "storedVersions": ["v1"] } }));
        definitions.patch_status(&name, &PatchParams::default(), &patch).await.unwrap();
        assert_eq!(stored().await, ["v1"], "{kind}");
    }

    let bucket = Api::<Bucket>::namespaced(client.clone(), &namespace).get("app").await.unwrap();
    assert_eq!(bucket.status.unwrap().artifact.unwrap().digest, "");
    let repository = Api::<HelmRepository>::namespaced(client.clone(), &namespace).get("app").await.unwrap();
    assert_eq!(repository.status.unwrap().observed_generation, 1);
    let chart = Api::<HelmChart>::namespaced(client, &namespace).get("app").await.unwrap();
    assert_eq!(chart.spec.all_values_files().collect::<Vec<_>>(), ["a.yaml"]);
}

/// The way back to a Flux that lacks the newest version (docs/upgrade-from-flux.md): its definition is refused until nothing is
/// stored in that version any more.
#[tokio::test]
async fn the_stored_version_is_turned_back_for_an_older_flux() {
    const NEWEST: &str = "image.toolkit.fluxcd.io/v1";
    const BEFORE: &str = "image.toolkit.fluxcd.io/v1beta2";
    let plane = ControlPlane::start().await.unwrap();
    let ours = weir_api::crd::all().unwrap().into_iter();
    let ours = ours.map(|definition| definition.object);
    let ours = ours.into_iter().find(|object| object["spec"]["names"]["kind"] == "ImageRepository").unwrap();
    let stored_in = |mut definition: Value, version: &str| {
        for served in definition["spec"]["versions"].as_array_mut().unwrap() {
            served["storage"] = json!(served["name"] == version);
        }
        definition
    };
    let mut theirs = stored_in(ours.clone(), "v1beta2");
    theirs["spec"]["versions"].as_array_mut().unwrap().retain(|version| version["name"] != "v1");

    plane.apply("", ours.clone()).await.unwrap();
    let namespace = plane.unique_namespace("back").await.unwrap();
    let api = async || plane.api(NEWEST, "ImageRepository", "default").await.ok();
    weir_testkit::eventually("the kind is served", std::time::Duration::from_secs(30), api).await.unwrap();
    let spec = json!({ "image": "ghcr.io/a/b", "interval": "1m" });
    let object = json!({ "apiVersion": NEWEST, "kind": "ImageRepository", "metadata": { "name": "app" }, "spec": spec });
    plane.apply(&namespace, object).await.unwrap();
    let refused = plane.apply("", theirs.clone()).await.unwrap_err();
    assert!(full_text(&refused).contains("was previously a storage version"), "{}", full_text(&refused));

    plane.apply("", stored_in(ours, "v1beta2")).await.unwrap();
    migrate(&plane.api(BEFORE, "ImageRepository", &namespace).await.unwrap(), "app", BEFORE).await;
    let definitions: Api<CustomResourceDefinition> = Api::all(plane.client().unwrap());
    let patch = Patch::Merge(json!({ "status": { "storedVersions": ["v1beta2"] } }));
    let name = "imagerepositories.image.toolkit.fluxcd.io";
    definitions.patch_status(name, &PatchParams::default(), &patch).await.unwrap();
    plane.apply("", theirs).await.unwrap();
    let kept = plane.api(BEFORE, "ImageRepository", &namespace).await.unwrap().get("app").await.unwrap();
    assert_eq!(kept.data["spec"]["image"], "ghcr.io/a/b");
}

async fn wait_until_served(plane: &ControlPlane, kind: &str) {
    let deadline = std::time::Duration::from_secs(30);
    let served = async || plane.api(OLD, kind, "default").await.ok();
    weir_testkit::eventually("the kind is served", deadline, served).await.unwrap();
}
