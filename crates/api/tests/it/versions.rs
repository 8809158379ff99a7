//! Objects that are written in one version and read in another.

use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use weir_api::{
    Alert, ArtifactGenerator, Bucket, FluxObject, GitRepository, HelmChart, HelmRepository, Kustomization,
    Receiver,
};

use super::world;

fn manifest(api_version: &str, kind: &str, name: &str, spec: &Value) -> Value {
    json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": name }, "spec": spec })
}

#[tokio::test]
async fn fields_of_old_kustomizations_survive() {
    let (plane, namespace) = world("versions").await;
    let spec = json!({
        "interval": "10m0s",
        "path": "./deploy",
        "prune": true,
        "sourceRef": { "kind": "GitRepository", "name": "app" },
        "validation": "client",
        "patchesStrategicMerge": [{ "kind": "Deployment", "metadata": { "name": "app" }, "spec": { "replicas": 2 } }],
        "patchesJson6902": [{
            "target": { "version": "v1", "kind": "Service", "name": "app" },
            "patch": [{ "op": "replace", "path": "/spec/ports/0/port", "value": 8080 }],
        }],
    });
    plane
        .apply(&namespace, manifest("kustomize.toolkit.fluxcd.io/v1beta1", "Kustomization", "app", &spec))
        .await
        .unwrap();

    let read =
        Api::<Kustomization>::namespaced(plane.client().unwrap(), &namespace).get("app").await.unwrap();
    assert_eq!(read.spec.validation.as_deref(), Some("client"));
    assert_eq!(read.spec.patches_strategic_merge[0]["spec"]["replicas"], 2);
    assert_eq!(read.spec.patches_json6902[0].patch[0].value, Some(json!(8080)));
    assert_eq!(read.status.unwrap().observed_generation, -1);
}

/// AV-1: a status that an old version has no schema for made the API server forget who set what, so that nothing was removed.
#[tokio::test]
async fn fields_go_from_objects_of_old_versions_when_their_manifest_drops_them() {
    let (plane, namespace) = world("versions").await;
    let kustomization = json!({ "interval": "10m", "path": "./a", "prune": true, "timeout": "2m",
        "sourceRef": { "kind": "GitRepository", "name": "app" } });
    let git = json!({ "interval": "10m", "url": "https://example.com/app.git", "timeout": "2m" });
    let entries = json!([{ "id": "n_a__ConfigMap", "v": "v1" }]);
    let artifact = json!({ "path": "a", "url": "http://a", "revision": "r", "digest": "sha256:1", "size": 7,
        "lastUpdateTime": "2022-02-03T01:37:54Z", "metadata": { "k": "v" } });
    let status_of_kustomization = json!({ "inventory": { "entries": entries }, "history": [],
        "lastAppliedOriginRevision": "x" });
    let group = "toolkit.fluxcd.io/v1";
    for (prefix, kind, spec, status) in [
        ("kustomize", "Kustomization", kustomization, status_of_kustomization),
        ("source", "GitRepository", git, json!({ "artifact": artifact })),
    ] {
        let api = plane.api(&format!("{prefix}.{group}"), kind, &namespace).await.unwrap();
        let old = plane.api(&format!("{prefix}.{group}beta1"), kind, &namespace).await.unwrap();
        let applied = async |spec: &Value| {
            let object = manifest(&format!("{prefix}.{group}beta1"), kind, "app", spec);
            old.patch("app", &PatchParams::apply("team").force(), &Patch::Apply(object)).await.unwrap();
        };
        applied(&spec).await;
        let written = Patch::Merge(json!({ "status": status }));
        api.patch_status("app", &PatchParams::apply("controller"), &written).await.unwrap();
        let mut fewer = spec.clone();
        fewer.as_object_mut().unwrap().shift_remove("timeout");
        applied(&fewer).await;
        let left = api.get("app").await.unwrap();
        assert_ne!(left.data["spec"]["timeout"], "2m", "{kind}");
        let is_kept = |(field, value): (&String, &Value)| left.data["status"][field] == *value;
        assert!(status.as_object().unwrap().iter().all(is_kept), "{kind}: {}", left.data["status"]);
    }
}

#[tokio::test]
async fn absent_fields_get_their_defaults() {
    let (plane, namespace) = world("versions").await;
    let spec = json!({ "interval": "1m", "url": "https://example.com/app.git", "verify": { "secretRef": { "name": "keys" } } });
    plane
        .apply(&namespace, manifest("source.toolkit.fluxcd.io/v1", "GitRepository", "app", &spec))
        .await
        .unwrap();
    let spec = json!({ "type": "github", "resources": [], "secretRef": { "name": "token" } });
    plane
        .apply(&namespace, manifest("notification.toolkit.fluxcd.io/v1", "Receiver", "app", &spec))
        .await
        .unwrap();

    let git = Api::<GitRepository>::namespaced(plane.client().unwrap(), &namespace).get("app").await.unwrap();
    assert_eq!(git.spec.timeout.unwrap().to_string(), "1m0s");
    assert_eq!(git.spec.provider, None);
    assert_eq!(git.spec.verify.unwrap().mode.as_deref(), Some("HEAD"));
    let receiver = Api::<Receiver>::namespaced(plane.client().unwrap(), &namespace).get("app").await.unwrap();
    assert_eq!(receiver.spec.interval.unwrap().to_string(), "10m0s");
}

/// AV-4.
#[tokio::test]
async fn image_objects_of_v1alpha2_are_those_of_v1() {
    let (plane, namespace) = world("versions").await;
    let repository = json!({ "image": "ghcr.io/stefanprodan/podinfo", "interval": "1m0s" });
    let policy = json!({
        "imageRepositoryRef": { "name": "podinfo" }, "policy": { "semver": { "range": "5.0.x" } },
        "filterTags": { "pattern": "^v(?P<version>.*)$", "extract": "$version" },
    });
    let automation = json!({
        "interval": "1m0s", "sourceRef": { "kind": "GitRepository", "name": "flux-system" },
        "git": {
            "checkout": { "ref": { "branch": "main" } },
            "commit": {
                "author": { "email": "fluxcdbot@users.noreply.github.com", "name": "fluxcdbot" },
                "messageTemplate": "{{range .Updated.Images}}{{println .}}{{end}}",
            },
            "push": { "branch": "main" },
        },
        "update": { "path": "./clusters/my-cluster", "strategy": "Setters" },
    });
    for (kind, spec) in
        [("ImageRepository", repository), ("ImagePolicy", policy), ("ImageUpdateAutomation", automation)]
    {
        let old = manifest("image.toolkit.fluxcd.io/v1alpha2", kind, "podinfo", &spec);
        plane.apply(&namespace, old).await.unwrap();
        let api = plane.api("image.toolkit.fluxcd.io/v1", kind, &namespace).await.unwrap();
        let read = api.get("podinfo").await.unwrap();
        let is_kept = |(field, value): (&String, &Value)| read.data["spec"][field] == *value;
        assert!(spec.as_object().unwrap().iter().all(is_kept), "{}", read.data["spec"]);
    }
}

/// The one removed field that means something is kept, and comes first (SRC-API-6).
#[tokio::test]
async fn the_values_file_of_old_charts_survives() {
    let (plane, namespace) = world("versions").await;
    let spec = json!({
        "chart": "app", "interval": "1m", "sourceRef": { "kind": "GitRepository", "name": "app" },
        "valuesFile": "first.yaml", "valuesFiles": ["second.yaml"],
    });
    for version in ["v1beta1", "v1beta2"] {
        let api_version = format!("source.toolkit.fluxcd.io/{version}");
        plane.apply(&namespace, manifest(&api_version, "HelmChart", version, &spec)).await.unwrap();
        let read =
            Api::<HelmChart>::namespaced(plane.client().unwrap(), &namespace).get(version).await.unwrap();
        assert_eq!(read.spec.all_values_files().collect::<Vec<_>>(), ["first.yaml", "second.yaml"]);
        assert_eq!(read.spec.version.as_deref(), Some("*"));
        assert_eq!(read.spec.reconcile_strategy.as_deref(), Some("ChartVersion"));
    }
}

#[tokio::test]
async fn absent_fields_of_sources_get_their_defaults() {
    let (plane, namespace) = world("versions").await;
    let spec = json!({ "interval": "1m", "bucketName": "x", "endpoint": "s3.example.com" });
    plane.apply(&namespace, manifest("source.toolkit.fluxcd.io/v1", "Bucket", "app", &spec)).await.unwrap();
    let spec = json!({ "url": "https://charts.example.com" });
    plane
        .apply(&namespace, manifest("source.toolkit.fluxcd.io/v1", "HelmRepository", "app", &spec))
        .await
        .unwrap();
    let spec = json!({
        "sources": [{ "alias": "a", "kind": "Bucket", "name": "app" }],
        "artifacts": [{ "name": "app", "copy": [{ "from": "@a/**", "to": "@artifact/" }] }],
    });
    let generator = manifest("source.extensions.fluxcd.io/v1beta1", "ArtifactGenerator", "app", &spec);
    plane.apply(&namespace, generator).await.unwrap();

    let client = || plane.client().unwrap();
    let bucket = Api::<Bucket>::namespaced(client(), &namespace).get("app").await.unwrap();
    assert_eq!(bucket.spec.provider.as_deref(), Some("generic"));
    assert_eq!(bucket.spec.timeout.unwrap().to_string(), "1m0s");
    assert_eq!(bucket.observed_generation(), -1);
    let helm = Api::<HelmRepository>::namespaced(client(), &namespace).get("app").await.unwrap();
    assert_eq!((helm.spec.type_, helm.spec.timeout, helm.spec.interval), (None, None, None));
    let generator = Api::<ArtifactGenerator>::namespaced(client(), &namespace).get("app").await.unwrap();
    assert!(generator.status.is_none());
    assert_eq!(generator.observed_generation(), -1);
}

/// An object without a spec is taken, and its status shows that nothing has looked at it yet (KS-API-5).
#[tokio::test]
async fn an_object_without_spec_is_taken() {
    let (plane, namespace) = world("versions").await;
    let empty = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": { "name": "empty" },
    });
    let applied = plane.apply(&namespace, empty).await.unwrap();
    assert_eq!(applied.data["status"], json!({ "observedGeneration": -1 }));
}

/// A value that an older version accepts and the stored one refuses does not prevent later writes (NTF-138).
#[tokio::test]
async fn values_that_only_old_versions_take_can_be_lived_with() {
    let (plane, namespace) = world("versions").await;
    let spec = json!({ "providerRef": { "name": "x" }, "eventSources": [], "summary": "x".repeat(300) });
    plane
        .apply(&namespace, manifest("notification.toolkit.fluxcd.io/v1beta1", "Alert", "app", &spec))
        .await
        .unwrap();
    let spec = json!({ "interval": "100us", "prune": true, "sourceRef": { "kind": "GitRepository", "name": "app" } });
    let old = manifest("kustomize.toolkit.fluxcd.io/v1beta1", "Kustomization", "app", &spec);
    plane.apply(&namespace, old).await.unwrap();

    let params = PatchParams::default();
    let finalizer = Patch::Merge(json!({ "metadata": { "finalizers": ["finalizers.fluxcd.io"] } }));
    let alerts = Api::<Alert>::namespaced(plane.client().unwrap(), &namespace);
    assert_eq!(alerts.patch("app", &params, &finalizer).await.unwrap().spec.summary.unwrap().len(), 300);
    let none = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    alerts.patch("app", &params, &none).await.unwrap();
    let kustomizations = Api::<Kustomization>::namespaced(plane.client().unwrap(), &namespace);
    let status = Patch::Merge(json!({ "status": { "observedGeneration": 1 } }));
    let written = kustomizations.patch_status("app", &params, &status).await.unwrap();
    assert_eq!(written.status.unwrap().observed_generation, 1);
}
