//! `weir trace` (CLI-TRC01, CLI-TRC02).

use serde_json::{Value, json};

use crate::world::{SHA, World, artifact, condition, ready, with};

const COMMANDS: [&str; 22] = [
    "trace configmap podinfo",
    "trace cm/podinfo service/podinfo",
    "trace ConfigMaps podinfo other",
    "trace cm,svc podinfo",
    "trace pod podinfo-0",
    "trace podinfo --kind=configmap --api-version=v1",
    "trace podinfo --kind=ConfigMap --api-version=v1",
    "trace kustomizations.kustomize.toolkit.fluxcd.io/of-oci",
    "trace hr podinfo",
    "trace serviceaccount oci",
    "trace serviceaccount chart-of-git",
    "trace namespace trace-of-nobody",
    "trace cm other",
    "trace cm lost",
    "trace cm nowhere-applied",
    "trace cm nowhere",
    "trace cm other nowhere elsewhere",
    "trace -n trace-nowhere cm/a deploy/b",
    "trace nothing x",
    "trace",
    "trace cm",
    "trace nowhere --kind=ConfigMap --api-version=v1",
];

fn labels(group: &str, namespace: &str, name: &str) -> Value {
    let group = format!("{group}.toolkit.fluxcd.io");
    json!({ format!("{group}/name"): name, format!("{group}/namespace"): namespace })
}

async fn world(namespace: &str) -> World {
    let world = World::with_helm(namespace).await;
    let revision = format!("main@sha1:{SHA}");
    world.object_with("GitRepository", "podinfo", json!({
        "url": "https://github.com/stefanprodan/podinfo", "interval": "1m", "ref": { "branch": "main" },
    })).await;
    let fetched = with(ready(1, "False", "GitOperationFailed", "cannot fetch"), artifact(&revision));
    world.status("GitRepository", "podinfo", fetched).await;
    world.object_with("OCIRepository", "podinfo", json!({
        "url": "oci://ghcr.io/stefanprodan/manifests/podinfo", "interval": "1m", "ref": { "semver": "6.x" },
    })).await;
    let mut stored = artifact("6.1.6@sha256:0123");
    stored["artifact"]["metadata"] = json!({
        "org.opencontainers.image.revision": "6.1.6@sha1:0123",
        "org.opencontainers.image.source": "https://github.com/stefanprodan/podinfo.git",
    });
    world
        .status("OCIRepository", "podinfo", with(ready(1, "True", "Succeeded", "stored artifact"), stored))
        .await;
    let spec = |kind: &str, name: &str| {
        json!({
            "interval": "10m", "prune": true, "path": "./apps", "targetNamespace": "apps", "sourceRef": { "kind": kind, "name": name },
        })
    };
    world.object_with("Kustomization", "podinfo", spec("GitRepository", "podinfo")).await;
    let applied = json!({
        "lastAppliedRevision": revision,
        "conditions": [condition("Ready", 1, "True", "ReconciliationSucceeded", "Applied revision")],
    });
    world.status("Kustomization", "podinfo", applied).await;
    world.object_with("Kustomization", "of-oci", spec("OCIRepository", "podinfo")).await;
    world.object_with("Kustomization", "of-nothing", spec("GitRepository", "nowhere")).await;
    releases(&world).await;
    objects(&world).await;
    world
}

async fn releases(world: &World) {
    world.object("HelmRepository", "podinfo").await;
    world
        .status(
            "HelmRepository",
            "podinfo",
            with(ready(1, "True", "Succeeded", "stored index"), artifact("sha256:0123")),
        )
        .await;
    world.object("HelmChart", "podinfo").await;
    world
        .status(
            "HelmChart",
            "podinfo",
            with(ready(1, "True", "Succeeded", "pulled chart"), artifact("6.3.5")),
        )
        .await;
    let chart = |kind: &str| {
        json!({ "targetNamespace": "apps", "chart": { "spec": {
        "chart": "podinfo", "sourceRef": { "kind": kind, "name": "podinfo" },
    } } })
    };
    world.release("podinfo", chart("HelmRepository")).await;
    world.release("of-git", chart("GitRepository")).await;
    let of_oci =
        json!({ "chartRef": { "kind": "OCIRepository", "name": "podinfo", "namespace": world.namespace } });
    world.object_with("HelmRelease", "of-oci", of_oci).await;
}

async fn objects(world: &World) {
    let namespace = &world.namespace;
    let object = |kind: &str, name: &str, labels: Value| json!({ "apiVersion": "v1", "kind": kind, "metadata": { "name": name, "labels": labels } });
    let mut service = object("Service", "podinfo", labels("helm", namespace, "podinfo"));
    service["spec"] = json!({ "ports": [{ "port": 80 }] });
    for object in [
        object("ConfigMap", "podinfo", labels("kustomize", namespace, "podinfo")),
        object("ConfigMap", "other", json!({})),
        object("ConfigMap", "lost", labels("kustomize", namespace, "of-nothing")),
        object("ConfigMap", "nowhere-applied", json!({ "kustomize.toolkit.fluxcd.io/name": "podinfo" })),
        object("ServiceAccount", "oci", labels("helm", namespace, "of-oci")),
        object("ServiceAccount", "chart-of-git", labels("helm", namespace, "of-git")),
        object("Namespace", "trace-of-nobody", json!({})),
        service,
    ] {
        world.plane.apply(namespace, object).await.unwrap();
    }
    let patch = |kind, name: &'static str, labels| async move {
        let patch = kube::api::Patch::Merge(json!({ "metadata": { "labels": labels } }));
        world.api(kind).await.patch(name, &Default::default(), &patch).await.unwrap();
    };
    patch("Kustomization", "of-oci", labels("kustomize", namespace, "of-oci")).await;
    patch("HelmRelease", "podinfo", labels("kustomize", namespace, "podinfo")).await;
    // A Pod is owned by a ReplicaSet, which is owned by a Deployment, which is applied.
    let template = json!({
        "metadata": { "labels": { "app": "podinfo" } },
        "spec": { "containers": [{ "name": "podinfo", "image": "podinfo" }] },
    });
    let spec =
        json!({ "replicas": 0, "selector": { "matchLabels": { "app": "podinfo" } }, "template": template });
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "spec": spec,
        "metadata": { "name": "podinfo", "labels": labels("kustomize", namespace, "podinfo") },
    });
    let owner = world.plane.apply(namespace, deployment).await.unwrap();
    let owned = |api_version: &str, kind: &str, name: &str, owner: &kube::api::DynamicObject| {
        json!([{
            "apiVersion": api_version, "kind": kind, "name": name, "uid": owner.metadata.uid,
        }])
    };
    let set = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "spec": spec,
        "metadata": { "name": "podinfo", "ownerReferences": owned("apps/v1", "Deployment", "podinfo", &owner) },
    });
    let set = world.plane.apply(namespace, set).await.unwrap();
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
        "metadata": { "name": "podinfo-0", "ownerReferences": owned("apps/v1", "ReplicaSet", "podinfo", &set) },
    });
    world.plane.apply(namespace, pod).await.unwrap();
}

#[tokio::test]
async fn an_object_is_traced_to_its_source() {
    insta::assert_snapshot!(world("trace").await.weir().transcript(&COMMANDS).await);
}

/// Kinds that `--kind` does not take as they are written are named, and so is the shorter way.
#[tokio::test]
async fn people_are_led_to_kinds() {
    let weir = World::new("trace-hints").await.weir();
    for (line, hint) in [
        (
            "trace podinfo --kind=deploy --api-version=apps/v1",
            "did you mean --kind Deployment --api-version apps/v1?",
        ),
        (
            "trace podinfo --kind=Deployment --api-version=v1",
            "did you mean --kind Deployment --api-version apps/v1?",
        ),
        (
            "trace podinfo --kind=Nothing --api-version=v1",
            "no matches for kind \"Nothing\" in version \"v1\"\n[exit",
        ),
        (
            "trace podinfo --kind=deploy",
            "object apiVersion is required (--api-version)\n2>   try: weir trace deploy/podinfo",
        ),
    ] {
        let transcript = weir.transcript(&[line]).await;
        assert!(transcript.contains(hint), "{transcript}");
    }
}

#[tokio::test]
async fn flux_traces_the_same() {
    world("trace-flux").await.weir().agrees_wholly_with_flux(&COMMANDS).await;
}
