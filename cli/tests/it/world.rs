//! A control plane with Weir's kinds, and objects whose status is written by hand: what is tested is what users see of it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use weir_testkit::{ControlPlane, repo_path, wait_for};

use crate::weir::{DEADLINE, Weir};

pub(crate) const SHA: &str = "696f056df216eea4f9401adbee0ff744d4df390f";

/// A namespace of a control plane.
pub(crate) struct World {
    pub(crate) plane: &'static ControlPlane,
    pub(crate) namespace: String,
}

impl World {
    pub(crate) async fn new(namespace: &str) -> Self {
        let plane = ControlPlane::shared().await.unwrap();
        plane.apply_crds(&repo_path("deploy/kustomize/crds")).await.unwrap();
        plane.namespace(namespace).await.unwrap();
        Self { plane, namespace: namespace.to_owned() }
    }

    /// A namespace of a control plane that has HelmReleases, too, and counts requests. Nothing works on the objects.
    pub(crate) async fn with_helm(namespace: &str) -> Self {
        static PLANE: OnceCell<ControlPlane> = OnceCell::const_new();
        let start = || ControlPlane::options().audit().start();
        Self::on(PLANE.get_or_try_init(start).await.unwrap(), namespace).await
    }

    /// The same on another control plane.
    pub(crate) async fn on(plane: &'static ControlPlane, namespace: &str) -> Self {
        for folder in ["deploy/kustomize/crds", "cli/tests/it/helm"] {
            plane.apply_crds(&repo_path(folder)).await.unwrap();
        }
        plane.namespace(namespace).await.unwrap();
        Self { plane, namespace: namespace.to_owned() }
    }

    /// The command for this control plane and namespace.
    pub(crate) fn weir(&self) -> Weir {
        Weir::default()
            .with_kubeconfig(self.plane.kubeconfig_path())
            .with_env("FLUX_SYSTEM_NAMESPACE", &self.namespace)
    }

    pub(crate) async fn api(&self, kind: &str) -> Api<DynamicObject> {
        self.plane.api(api_version(kind), kind, &self.namespace).await.unwrap()
    }

    /// Makes an object with a spec that the API server takes.
    pub(crate) async fn object(&self, kind: &str, name: &str) {
        self.object_with(kind, name, spec(kind)).await;
    }

    pub(crate) async fn object_with(&self, kind: &str, name: &str, spec: Value) {
        let object = json!({
            "apiVersion": api_version(kind),
            "kind": kind,
            "metadata": { "name": name, "labels": { "of": self.namespace, "app": name } },
            "spec": spec,
        });
        self.plane.apply(&self.namespace, object).await.unwrap();
    }

    pub(crate) async fn status(&self, kind: &str, name: &str, status: Value) {
        let patch = Patch::Merge(json!({ "status": status }));
        self.api(kind).await.patch_status(name, &PatchParams::default(), &patch).await.unwrap();
    }

    /// Waits until someone asks for a reconciliation, and returns the token of the request.
    pub(crate) async fn requested(&self, kind: &str, name: &str) -> String {
        let token = |object: &DynamicObject| {
            object.metadata.annotations.as_ref()?.get("reconcile.fluxcd.io/requestedAt").cloned()
        };
        let api = self.api(kind).await;
        let asked = |object: Option<&DynamicObject>| object.and_then(token).is_some();
        let object = wait_for(&api, name, "a request", DEADLINE, asked).await.unwrap();
        object.as_ref().and_then(token).unwrap()
    }
}

/// A manifest with two objects, as Helm keeps that of a release.
const RELEASED: &str = "---\n# Source: podinfo/templates/service.yaml\napiVersion: v1\nkind: Service\nmetadata: {name: podinfo}\n\
    ---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: podinfo}\n";

impl World {
    /// Makes a HelmRelease that has been installed, and the Secret in which Helm keeps the release.
    pub(crate) async fn release(&self, name: &str, spec: Value) {
        self.object_with("HelmRelease", name, spec).await;
        let status = json!({
            "storageNamespace": self.namespace,
            "helmChart": format!("{}/podinfo", self.namespace),
            "lastAttemptedRevision": "6.3.5",
            "history": [{
                "name": name, "version": 2, "namespace": "apps", "chartName": "podinfo", "chartVersion": "6.3.5",
                "status": "deployed", "digest": "sha256:0123", "configDigest": "sha256:4567",
                "firstDeployed": "2022-02-03T01:37:54Z", "lastDeployed": "2022-02-03T02:37:54Z",
            }],
        });
        let status = with(ready(1, "True", "UpgradeSucceeded", "Helm upgrade succeeded"), status);
        self.status("HelmRelease", name, status).await;
        let release = STANDARD.encode(json!({ "name": name, "manifest": RELEASED }).to_string());
        let secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "helm.sh/release.v1",
            "metadata": { "name": format!("sh.helm.release.v1.{name}.v2") },
            "data": { "release": STANDARD.encode(release) },
        });
        self.plane.apply(&self.namespace, secret).await.unwrap();
    }
}

/// Returns a status that is Ready.
pub(crate) fn ready(generation: i64, status: &str, reason: &str, message: &str) -> Value {
    json!({ "observedGeneration": generation, "conditions": [condition("Ready", generation, status, reason, message)] })
}

pub(crate) fn condition(type_: &str, generation: i64, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": generation,
        "lastTransitionTime": "2022-02-03T01:37:54Z",
    })
}

/// Adds fields to a status.
pub(crate) fn with(mut status: Value, fields: Value) -> Value {
    let fields = fields.as_object().unwrap().clone();
    status.as_object_mut().unwrap().extend(fields);
    status
}

pub(crate) fn artifact(revision: &str) -> Value {
    json!({ "artifact": {
        "path": "p.tar.gz",
        "url": "http://source-controller/p.tar.gz",
        "revision": revision,
        "digest": format!("sha256:{}", "a".repeat(64)),
        "lastUpdateTime": "2022-02-03T01:37:54Z",
    }})
}

pub(crate) fn api_version(kind: &str) -> &'static str {
    match kind {
        "GitRepository" | "OCIRepository" | "Bucket" | "HelmRepository" | "HelmChart"
        | "ExternalArtifact" => "source.toolkit.fluxcd.io/v1",
        "ArtifactGenerator" => "source.extensions.fluxcd.io/v1beta1",
        "Kustomization" => "kustomize.toolkit.fluxcd.io/v1",
        "Receiver" => "notification.toolkit.fluxcd.io/v1",
        "HelmRelease" => "helm.toolkit.fluxcd.io/v2",
        "Alert" | "Provider" => "notification.toolkit.fluxcd.io/v1beta3",
        _ => "image.toolkit.fluxcd.io/v1",
    }
}

fn spec(kind: &str) -> Value {
    match kind {
        "GitRepository" => json!({ "url": "https://github.com/stefanprodan/podinfo", "interval": "1m" }),
        "OCIRepository" => json!({ "url": "oci://ghcr.io/stefanprodan/manifests/podinfo", "interval": "1m" }),
        "Bucket" => json!({ "bucketName": "podinfo", "endpoint": "s3.amazonaws.com", "interval": "1m" }),
        "HelmRepository" => json!({ "url": "https://stefanprodan.github.io/podinfo", "interval": "1m" }),
        "HelmChart" => json!({
            "chart": "podinfo",
            "interval": "1m",
            "sourceRef": { "kind": "HelmRepository", "name": "podinfo" },
        }),
        "ExternalArtifact" => json!({ "sourceRef": { "kind": "ArtifactGenerator", "name": "podinfo" } }),
        "ArtifactGenerator" => json!({
            "sources": [{ "alias": "git", "kind": "GitRepository", "name": "podinfo" }],
            "artifacts": [{ "name": "podinfo", "copy": [{ "from": "@git/**", "to": "@artifact/" }] }],
        }),
        "Kustomization" => json!({
            "interval": "10m",
            "prune": true,
            "sourceRef": { "kind": "GitRepository", "name": "podinfo" },
        }),
        "ImageRepository" => json!({ "image": "ghcr.io/stefanprodan/podinfo", "interval": "1m" }),
        "ImagePolicy" => json!({
            "imageRepositoryRef": { "name": "podinfo" },
            "policy": { "semver": { "range": "6.x" } },
        }),
        "ImageUpdateAutomation" => json!({
            "interval": "1m",
            "sourceRef": { "kind": "GitRepository", "name": "podinfo" },
            "git": { "commit": { "author": { "email": "bot@example.com" } } },
        }),
        "Receiver" => json!({
            "type": "generic",
            "secretRef": { "name": "token" },
            "resources": [{ "kind": "GitRepository", "name": "podinfo" }],
        }),
        "Alert" => json!({
            "providerRef": { "name": "slack" },
            "eventSources": [{ "kind": "Kustomization", "name": "*" }],
        }),
        "Provider" => json!({ "type": "generic", "address": "https://example.com" }),
        other => panic!("no spec for {other}"),
    }
}
