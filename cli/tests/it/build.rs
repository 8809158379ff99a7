//! `weir build`: flags and errors; what the engine builds is tested where the engine is.

use std::collections::BTreeSet;
use std::path::Path;

use weir_testkit::GitServer;

use crate::weir::Weir;

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: podinfo
spec:
  template:
    spec:
      containers:
      - name: podinfo
        image: ghcr.io/stefanprodan/podinfo:6.0.0
";

const NAMESPACE: &str = "apiVersion: v1
kind: Namespace
metadata:
  name: podinfo
";

pub(crate) fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

fn fleet() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let overlay = "apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: podinfo
resources:
- ../base
images:
- name: ghcr.io/stefanprodan/podinfo
  newTag: 6.0.1
";
    write(
        folder.path(),
        &[
            ("base/kustomization.yaml", "resources:\n- deployment.yaml\n- namespace.yaml\n"),
            ("base/deployment.yaml", DEPLOYMENT),
            ("base/namespace.yaml", NAMESPACE),
            ("prod/kustomization.yaml", overlay),
            ("shared/settings.env", "COLOR=blue\n"),
            (
                "outside/kustomization.yaml",
                "configMapGenerator:\n- name: s\n  envs:\n  - ../shared/settings.env\n",
            ),
            ("broken/kustomization.yaml", "resources:\n- missing.yaml\n"),
            ("plain/deployment.yaml", DEPLOYMENT),
        ],
    );
    folder
}

#[tokio::test]
async fn an_overlay_is_printed() {
    let folder = fleet();
    let weir = Weir::default().in_folder(folder.path());
    let commands = [
        "build prod",
        "build prod --reorder none",
        "build prod --enable-managedby-label",
        "build outside --load-restrictor LoadRestrictionsNone",
    ];
    insta::assert_snapshot!(weir.transcript(&commands).await);
}

#[tokio::test]
async fn what_cannot_be_built_is_told_with_its_place() {
    let folder = fleet();
    let weir = Weir::default().in_folder(folder.path());
    let transcript =
        weir.transcript(&["build outside", "build broken", "build plain", "build nowhere"]).await;
    let root = folder.path().canonicalize().unwrap();
    insta::assert_snapshot!(transcript.replace(root.to_str().unwrap(), "[folder]"));
}

#[tokio::test]
async fn resources_are_written_into_files() {
    let folder = fleet();
    let weir = Weir::default().in_folder(folder.path());
    std::fs::create_dir(folder.path().join("rendered")).unwrap();
    let transcript = weir.transcript(&["build prod -o all.yaml", "build prod --output rendered"]).await;
    assert!(!transcript.contains("2>"), "{transcript}");
    let mut names: Vec<_> = std::fs::read_dir(folder.path().join("rendered"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["apps_v1_deployment_podinfo.yaml", "v1_namespace_podinfo.yaml"]);
    let all = std::fs::read_to_string(folder.path().join("all.yaml")).unwrap();
    assert_eq!(all, weir.stdout("build prod").await);
}

/// As kustomize names them: with several namespaces by these, of which `default` is one.
#[tokio::test]
async fn files_of_several_namespaces_are_named_by_these() {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("kustomization.yaml", "resources: [all.yaml]\n"),
        (
            "all.yaml",
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n---\n\
             apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: web}\n---\n\
             apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n",
        ),
    ];
    write(folder.path(), &files);
    std::fs::create_dir(folder.path().join("rendered")).unwrap();
    let transcript = Weir::default().in_folder(folder.path()).transcript(&["build . -o rendered"]).await;
    assert!(!transcript.contains("2>"), "{transcript}");
    let written = std::fs::read_dir(folder.path().join("rendered")).unwrap();
    let names: BTreeSet<_> = written.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let expected = ["default_v1_configmap_c.yaml", "v1_namespace_web.yaml", "web_v1_configmap_c.yaml"];
    assert_eq!(names, expected.map(str::to_owned).into());
}

/// A directory is built without connections, as nobody expects any; the refusal names the flag. A Kustomization is built as the
/// service builds it.
#[tokio::test]
async fn remote_bases_are_fetched_when_a_flag_allows_it() {
    let server = GitServer::start().await.unwrap();
    let repository = server.repo("fleet").unwrap();
    let files =
        [("base/kustomization.yaml", "resources: [namespace.yaml]\n"), ("base/namespace.yaml", NAMESPACE)];
    repository.commit("main", "x", &files).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (http, ssh) = (server.url("fleet"), "ssh://git@127.0.0.1:1/fleet.git");
    let kustomization = "apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: {interval: 1h, prune: true, path: ./remote, sourceRef: {kind: GitRepository, name: apps}}
";
    write(
        folder.path(),
        &[
            ("remote/kustomization.yaml", &format!("resources: ['{http}//base?ref=main']\n")),
            ("ssh/kustomization.yaml", &format!("resources: ['{ssh}//base']\n")),
            ("apps.yaml", kustomization),
        ],
    );
    let weir = Weir::default().in_folder(folder.path());
    let apps = "build kustomization apps --dry-run --kustomization-file apps.yaml --path remote";
    let refused = format!("{apps} --allow-remote-bases=false");
    let mut transcript = weir.transcript(&["build remote", &refused]).await;
    assert_eq!(server.requests(), []);
    let commands = ["build remote --allow-remote-bases", "build ssh --allow-remote-bases", apps];
    transcript.push_str(&weir.transcript(&commands).await);
    let root = folder.path().canonicalize().unwrap();
    let shown = transcript.replace(root.to_str().unwrap(), "[folder]").replace(&http, "[repository]");
    insta::assert_snapshot!(shown);
}
