//! `weir migrate`, on a control plane whose kinds were once stored in an older version (CLI-MIG01), and on manifests (CLI-MIG02).

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};
use weir_testkit::{ControlPlane, Folder, flux_program};

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
    let mut transcript = weir.transcript(&["migrate", "migrate --yes"]).await;
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

/// The API versions that Flux 2.6 and before had.
const OLD: &str = "apiVersion: image.toolkit.fluxcd.io/v1beta1\nkind: ImageRepository # v1beta1\n---\n\
    apiVersion: notification.toolkit.fluxcd.io/v1beta2   # kept\nkind: Alert\n---\n\
    apiVersion: image.toolkit.fluxcd.io/v1/v2\nkind: ImagePolicy\n---\n\
    spec:\n  dependsOn:\n    - apiVersion: source.toolkit.fluxcd.io/v1beta2\n      kind: Bucket\n";

fn manifests(folder: &Folder) -> (Weir, impl Fn() -> String) {
    let path = folder.path();
    std::fs::create_dir_all(path.join("apps/deep")).unwrap();
    folder.write("apps/deep/a.yaml", OLD).unwrap();
    folder
        .write("apps/b.yml", "apiVersion: helm.toolkit.fluxcd.io/v2beta2\r\nkind: HelmRelease\r\n")
        .unwrap();
    folder.write("apps/c.tpl", "apiVersion: helm.toolkit.fluxcd.io/v2beta2\nkind: HelmRelease\n").unwrap();
    folder.write("apps/new.yaml", "apiVersion: source.toolkit.fluxcd.io/v1\nkind: Bucket\n").unwrap();
    folder
        .write("apps/latin.yaml", b"# \xe9\napiVersion: helm.toolkit.fluxcd.io/v2beta2\nkind: HelmRelease\n")
        .unwrap();
    symlink("deep/a.yaml", path.join("apps/link.yaml")).unwrap();
    symlink("deep", path.join("apps/linked-folder")).unwrap();
    symlink("/etc/hostname", path.join("outside.yaml")).unwrap();
    std::fs::set_permissions(path.join("apps/b.yml"), Permissions::from_mode(0o640)).unwrap();
    let path = path.to_owned();
    let all = move || {
        ["apps/deep/a.yaml", "apps/b.yml", "apps/c.tpl"]
            .map(|name| {
                let mode = path.join(name).metadata().unwrap().permissions().mode() & 0o777;
                format!("{name} {mode:o}\n{}", std::fs::read_to_string(path.join(name)).unwrap())
            })
            .join("===\n")
    };
    (Weir::default().in_folder(folder.path()), all)
}

/// CLI-MIG02
#[tokio::test]
async fn manifests_are_edited_line_by_line() {
    let folder = Folder::new("migrate").unwrap();
    let (weir, all) = manifests(&folder);
    let before = all();
    let refused = [
        "migrate -f . --dry-run",
        "migrate -f .",
        "migrate -f ..",
        "migrate -f /etc",
        "migrate -f outside.yaml",
        "migrate -f apps/link.yaml",
        "migrate -f apps/c.tpl",
        "migrate -f missing.yaml",
        "migrate -f . -y -e ''",
        "migrate -f apps/c.tpl -y -e ''",
        "migrate -f . --version 2.5",
        "migrate --dry-run",
    ];
    let transcript = weir.transcript(&refused).await;
    assert_eq!(all(), before, "nothing is written without a yes");
    let written = ["migrate -f ./apps/ -y", "migrate -f . -y", "migrate -f apps/c.tpl -e .tpl --yes"];
    let transcript = [transcript, weir.transcript(&written).await, all()].concat();
    insta::assert_snapshot!(transcript.replace(folder.path().to_str().unwrap(), "[folder]"));
}

#[tokio::test]
async fn flux_edits_the_same_manifests() {
    let ours = Folder::new("migrate").unwrap();
    let (weir, of_ours) = manifests(&ours);
    let Some(flux) = weir.as_flux() else { return };
    let theirs = Folder::new("migrate").unwrap();
    let (_, of_theirs) = manifests(&theirs);
    for folder in [&ours, &theirs] {
        // Ours leaves files alone that are no text.
        std::fs::remove_file(folder.path().join("apps/latin.yaml")).unwrap();
    }
    let commands = ["migrate -f . -y -e ''", "migrate -f apps -y"];
    let (ours, theirs) =
        (weir.transcript(&commands).await, flux.in_folder(theirs.path()).transcript(&commands).await);
    assert_eq!((ours, of_ours()), (theirs, of_theirs()));
}
