//! `weir diff kustomization` (CLI-DIF01, CLI-DIF02): files of a folder against the objects of a control plane.

use std::path::Path;

use serde_json::json;

use crate::build::write;
use crate::weir::Weir;
use crate::world::World;

const COMMANDS: [&str; 15] = [
    "diff ks wide --path wide --progress-bar=false",
    "diff kustomization apps --path apps --progress-bar=false",
    "diff ks same --path same --progress-bar=false",
    "diff ks new --path apps --kustomization-file new.yaml --ignore-not-found --progress-bar=false",
    "diff ks new --path apps --kustomization-file new.yaml --progress-bar=false",
    "diff ks apps --path same --kustomization-file apps.yaml --progress-bar=false",
    "diff ks torn --path torn --progress-bar=false",
    "diff ks fleet --path fleet --progress-bar=false",
    "diff ks fleet --path fleet -r --local-sources GitRepository/NS/fleet=. --progress-bar=false",
    "diff ks apps --path apps --ignore-not-found --progress-bar=false",
    "diff ks apps --path nowhere",
    "diff ks apps --path apps --kustomization-file nowhere.yaml",
    "diff ks nowhere --path apps",
    "diff ks apps",
    "diff ks",
];

/// The files. The cluster differs from `apps` in many ways.
const FILES: [(&str, &str); 11] = [
    (
        "wide/config.yaml",
        "apiVersion: v1
kind: ConfigMap
metadata: {name: wide, annotations: {a.example.com/key: 'x: y', b: '-1', c: 'true', d: ''}}
data:
  blank: 'a b '
  gone-blank: \"one\\n\\n\"
  long: \"a long text that does not fit beside anything else, because it is longer than the eighty columns of a line\"
  number: '2'
  tail: \"a\\nb\"
  text: \"x\\ny\\nz\\n\"
"
    ),
    ("apps/config.yaml", "apiVersion: v1
kind: ConfigMap
metadata: {name: config, annotations: {team: a}}
data: {color: green, added: \"yes, it is\", lines: \"one\\ntwo\\n2.5\\nthree\\n\", '8080': '1'}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kept, labels: {kustomize.toolkit.fluxcd.io/ssa: Ignore}}
data: {color: green}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: once, annotations: {kustomize.toolkit.fluxcd.io/ssa: IfNotPresent}}
data: {color: green}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: brand-new}
"),
    ("apps/service.yaml", "apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports:
  - {name: http, port: 9898, targetPort: http}
  - {name: grpc, port: 9999}
"),
    ("apps/deployment.yaml", "apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: web:2
        args: [--b, --a]
        env: [{name: B, value: b}, {name: A, value: a}]
      - {name: sidecar, image: 'side:1', command: [run, 'it now']}
"),
    ("apps/secret.yaml", "apiVersion: v1
kind: Secret
metadata: {name: token}
stringData: {changed: new, same: same, added: new}
"),
    ("apps/encrypted.yaml", "apiVersion: v1
kind: Secret
metadata: {name: encrypted}
data: {token: RU5DW0FFUzI1Nl9HQ00sZGF0YTp4XQ==, other: RU5DW0FFUzI1Nl9HQ00sZGF0YTp4XQ==}
sops: {mac: 'ENC[AES256_GCM,data:y]', version: 3.8.1}
---
apiVersion: v1
kind: Secret
metadata: {name: encrypted-as-before}
data: {token: RU5DW0FFUzI1Nl9HQ00sZGF0YTp4XQ==}
sops: {mac: 'ENC[AES256_GCM,data:y]', version: 3.8.1}
"),
    ("same/config.yaml", "apiVersion: v1
kind: ConfigMap
metadata: {name: same}
data: {color: blue}
"),
    ("torn/config.yaml", "apiVersion: v1
kind: ConfigMap
metadata: {name: elsewhere, namespace: no-such-namespace}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: none}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: fine-and-new}
"),
    ("fleet/apps.yaml", "apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: same, namespace: NS}
spec: {interval: 10m, prune: false, path: ./same, targetNamespace: NS, sourceRef: {kind: GitRepository, name: fleet}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: nested, namespace: NS}
spec: {interval: 10m, prune: true, path: ./nested, targetNamespace: NS, sourceRef: {kind: GitRepository, name: fleet}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: remote, namespace: NS}
spec: {interval: 10m, prune: true, path: ./x, kubeConfig: {secretRef: {name: x}}, sourceRef: {kind: GitRepository, name: elsewhere}}
"),
    ("nested/config.yaml", "apiVersion: v1
kind: ConfigMap
metadata: {name: of-nested}
data: {color: green}
"),
    ("new.yaml", "apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: new, namespace: NS}
spec: {interval: 10m, prune: true, targetNamespace: NS, sourceRef: {kind: GitRepository, name: fleet}}
"),
];

/// The cluster's objects; their manager is the service.
const CLUSTER: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: config}
data: {color: blue, gone: old, lines: \"one\\n2\\nthree\\n\", '8080': '1'}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kept}
data: {color: blue}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: once}
data: {color: blue}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: same, labels: {kustomize.toolkit.fluxcd.io/name: same, kustomize.toolkit.fluxcd.io/namespace: NS}}
data: {color: blue}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: of-nested}
data: {color: blue}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: wide}
data:
  blank: 'a b'
  gone: \"another long text that does not fit beside anything else, as it is longer than the eighty columns of a line\"
  gone-blank: \"one\\n\"
  number: '1'
  tail: \"a\\nb\\n\"
  text: one
---
apiVersion: v1
kind: Service
metadata: {name: web, labels: {kustomize.toolkit.fluxcd.io/name: apps, kustomize.toolkit.fluxcd.io/namespace: NS}}
spec:
  clusterIP: None
  selector: {app: web}
  ports:
  - {name: http, port: 9899, targetPort: 80}
  - {name: old, port: 1}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: web:1
        args: [--a, --b]
        env: [{name: A, value: a}, {name: B, value: b}]
---
apiVersion: v1
kind: Secret
metadata: {name: token}
data: {changed: b2xk, same: c2FtZQ==, gone: b2xk}
---
apiVersion: v1
kind: Secret
metadata: {name: encrypted}
data: {token: b2xk, gone: b2xk}
---
apiVersion: v1
kind: Secret
metadata: {name: encrypted-as-before}
data: {token: b2xk}
";

async fn world(namespace: &str, folder: &Path) -> (World, Weir) {
    let world = World::new(namespace).await;
    let files: Vec<_> = FILES.iter().map(|(path, text)| (*path, text.replace("NS", namespace))).collect();
    let files: Vec<_> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    write(folder, &files);
    let new = files.iter().find(|(path, _)| *path == "new.yaml").unwrap().1;
    write(folder, &[("apps.yaml", new.replace("name: new", "name: apps").as_str())]);
    let api = |kind: &'static str| {
        let version = if kind == "Deployment" { "apps/v1" } else { "v1" };
        world.plane.api(version, kind, namespace)
    };
    for document in CLUSTER.replace("NS", namespace).split("---\n") {
        let object: serde_json::Value = parsed(document);
        let kind = match object["kind"].as_str().unwrap() {
            "ConfigMap" => "ConfigMap",
            "Service" => "Service",
            "Deployment" => "Deployment",
            _ => "Secret",
        };
        let params = kube::api::PatchParams::apply("kustomize-controller").force();
        let name = object["metadata"]["name"].as_str().unwrap();
        api(kind).await.unwrap().patch(name, &params, &kube::api::Patch::Apply(&object)).await.unwrap();
    }
    for name in ["apps", "same", "torn", "fleet", "nested", "wide", "remote"] {
        let source = json!({ "kind": "GitRepository", "name": "fleet" });
        let mut spec = json!({
            "interval": "10m", "prune": name != "same", "path": format!("./{name}"), "sourceRef": source,
        });
        if !["torn", "fleet"].contains(&name) {
            spec["targetNamespace"] = json!(namespace);
        }
        world.object_with("Kustomization", name, spec).await;
    }
    let entry = |id: String| json!({ "id": id, "v": "v1" });
    let entries = [
        entry(format!("{namespace}_config__ConfigMap")),
        entry(format!("{namespace}_stale__ConfigMap")),
        entry(format!("{namespace}_stale_apps_Deployment")),
        entry("_stale__Namespace".to_owned()),
    ];
    world.status("Kustomization", "apps", json!({ "inventory": { "entries": entries } })).await;
    let weir = world.weir().in_folder(folder);
    (world, weir)
}

fn parsed(text: &str) -> serde_json::Value {
    let limits = weir_yaml::Limits::default();
    let source = weir_yaml::Source::read("test", text.as_bytes().to_vec(), &limits).unwrap();
    weir_yaml::parse_first_document(&source, &limits).unwrap().unwrap().to_json().unwrap()
}

fn commands(namespace: &str) -> Vec<String> {
    COMMANDS.iter().map(|command| command.replace("NS", namespace)).collect()
}

#[tokio::test]
async fn the_changes_of_an_apply_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let (_world, weir) = world("diffs", folder.path()).await;
    let commands = commands("diffs");
    let commands: Vec<_> = commands.iter().map(String::as_str).collect();
    insta::assert_snapshot!(weir.transcript(&commands).await);
}

#[tokio::test]
async fn flux_shows_the_same_changes() {
    let folder = tempfile::tempdir().unwrap();
    let (_world, weir) = world("diffs-flux", folder.path()).await;
    let commands = commands("diffs-flux");
    let commands: Vec<_> = commands.iter().map(String::as_str).collect();
    weir.agrees_wholly_with_flux(&commands).await;
}

/// A Kustomization that several others bring along, and a ring of them, are compared once.
#[tokio::test]
async fn a_kustomization_that_comes_up_again_is_compared_once() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::new("diffs-again").await;
    let spec = |name: &str| {
        json!({
            "interval": "10m", "prune": false, "path": format!("./{name}"), "targetNamespace": "diffs-again",
            "sourceRef": { "kind": "GitRepository", "name": "fleet" },
        })
    };
    let kustomization = |name: &str| {
        json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": { "name": name, "namespace": "diffs-again" }, "spec": spec(name),
        })
    };
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "brand-new" } });
    // Both sides of the diamond have the bottom, which has the left side again.
    for (name, objects) in [
        ("top", vec![kustomization("left"), kustomization("right")]),
        ("left", vec![kustomization("bottom")]),
        ("right", vec![kustomization("bottom")]),
        ("bottom", vec![map, kustomization("left")]),
    ] {
        world.object_with("Kustomization", name, spec(name)).await;
        let documents: Vec<_> = objects.iter().map(ToString::to_string).collect();
        write(folder.path(), &[(&format!("{name}/all.yaml"), &documents.join("\n---\n"))]);
    }
    let line =
        "diff ks top --path top -r --local-sources GitRepository/diffs-again/fleet=. --progress-bar=false";
    let transcript = world.weir().in_folder(folder.path()).transcript(&[line]).await;
    assert_eq!(transcript.matches("brand-new").count(), 1, "{transcript}");
    assert_eq!(transcript.matches("Kustomization/diffs-again/bottom changed").count(), 1, "{transcript}");
}

/// CLI-DIF01: `spec.ignore`.
#[tokio::test]
async fn fields_that_are_left_to_others_are_no_change() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::new("diffs-ignored").await;
    let map = |color: &str, owned: &str| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "shared", "namespace": "diffs-ignored", "labels": {
                "kustomize.toolkit.fluxcd.io/name": "shared", "kustomize.toolkit.fluxcd.io/namespace": "diffs-ignored",
            } },
            "data": { "color": color, "owned": owned },
        })
    };
    let params = kube::api::PatchParams::apply("kustomize-controller").force();
    let api = world.plane.api("v1", "ConfigMap", "diffs-ignored").await.unwrap();
    api.patch("shared", &params, &kube::api::Patch::Apply(map("blue", "theirs"))).await.unwrap();
    let spec = |target: &str| {
        json!({
            "interval": "10m", "prune": false, "sourceRef": { "kind": "GitRepository", "name": "fleet" },
            "ignore": [{ "paths": ["/data/owned"], "target": { "kind": "ConfigMap", "name": target } }],
        })
    };
    world.object_with("Kustomization", "shared", spec("sha.*")).await;
    world.object_with("Kustomization", "unreadable", spec("(")).await;
    for (name, color) in [("same", "blue"), ("other", "green")] {
        write(folder.path(), &[(&format!("{name}/map.yaml"), &map(color, "ours").to_string())]);
    }
    let commands =
        ["diff ks shared --path same", "diff ks shared --path other", "diff ks unreadable --path same"];
    insta::assert_snapshot!(world.weir().in_folder(folder.path()).transcript(&commands).await);
}

/// CLI-DIF01: objects in a namespace, and of a kind, that the same build makes are new, however deep below. With `spec.force`, so is one of
/// which a field that cannot change does.
#[tokio::test]
async fn namespaces_and_kinds_that_are_to_come_are_no_errors() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::new("diffs-coming").await;
    let map = |name: &str, namespace: &str, data: serde_json::Value| {
        let metadata = json!({ "name": name, "namespace": namespace });
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data })
    };
    let fixed = |color: &str| {
        let mut map = map("fixed", "diffs-coming", json!({ "color": color }));
        map["immutable"] = json!(true);
        map
    };
    let spec = |name: &str| {
        json!({
            "interval": "10m", "prune": false, "path": format!("./{name}"), "force": name != "careful",
            "sourceRef": { "kind": "GitRepository", "name": "fleet" },
        })
    };
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "gadgets.coming.example.com" },
        "spec": {
            "group": "coming.example.com", "scope": "Namespaced", "names": { "kind": "Gadget", "plural": "gadgets" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    });
    let gadget = json!({
        "apiVersion": "coming.example.com/v1", "kind": "Gadget", "metadata": { "name": "gadget", "namespace": "diffs-to-come" },
    });
    let nested = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": { "name": "below", "namespace": "diffs-coming" }, "spec": spec("below"),
    });
    let space = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "diffs-to-come" } });
    let params = kube::api::PatchParams::apply("kustomize-controller").force();
    let api = world.plane.api("v1", "ConfigMap", "diffs-coming").await.unwrap();
    api.patch("fixed", &params, &kube::api::Patch::Apply(fixed("blue"))).await.unwrap();
    let first = map("first", "diffs-to-come", json!({}));
    for (name, objects) in [
        ("top", vec![space, definition, first, gadget, nested, fixed("green")]),
        ("below", vec![map("second", "diffs-to-come", json!({}))]),
        ("careful", vec![fixed("green"), map("elsewhere", "diffs-nowhere", json!({}))]),
    ] {
        world.object_with("Kustomization", name, spec(name)).await;
        let documents: Vec<_> = objects.iter().map(ToString::to_string).collect();
        write(folder.path(), &[(&format!("{name}/all.yaml"), &documents.join("\n---\n"))]);
    }
    let commands = [
        "diff ks top --path top -r --local-sources GitRepository/diffs-coming/fleet=. --progress-bar=false",
        "diff ks careful --path careful --progress-bar=false",
    ];
    insta::assert_snapshot!(world.weir().in_folder(folder.path()).transcript(&commands).await);
}
