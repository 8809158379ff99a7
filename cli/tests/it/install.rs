//! `weir check`, `install` and `uninstall` (cli.md 10), on a control plane of their own: they change all of it.

use std::time::Duration;

use serde_json::json;
use weir_testkit::{ControlPlane, Folder, eventually};

use crate::build::write;
use crate::nodes::with_nodes;
use crate::weir::Weir;

fn without_versions(transcript: &str, plane: &ControlPlane) -> String {
    let kubernetes =
        transcript.lines().find_map(|line| line.strip_prefix("2> ✔ Kubernetes ")?.split(' ').next());
    let kubeconfig = plane.kubeconfig_path().display().to_string();
    let text = transcript.replace(env!("CARGO_PKG_VERSION"), "[version]").replace(plane.server(), "[server]");
    let text = text.replace(&kubeconfig, "[kubeconfig]");
    kubernetes.map_or(text.clone(), |version| text.replace(version, "[kubernetes]"))
}

#[tokio::test]
async fn services_are_installed_checked_as_by_flux_and_taken_away() {
    let plane = ControlPlane::start().await.unwrap();
    let weir = Weir::default().with_kubeconfig(plane.kubeconfig_path());
    let commands = ["check --pre", "check", "install --timeout 1s --components nope"];
    let mut transcript = weir.transcript(&commands).await;
    let elsewhere = weir.transcript(&["check -n gitops"]).await;
    assert!(elsewhere.contains("2>   try: weir install -n gitops\n"), "{elsewhere}");
    // A user who may not see one thing is told of the others.
    let limited = weir.transcript(&["check --as nobody"]).await;
    assert_eq!(limited.matches("2> ✗ checking failed: ").count(), 3, "{limited}");
    assert!(limited.ends_with("2> ✗ check failed\n[exit status: 1]\n\n"), "{limited}");
    let commands =
        ["install --timeout 55s", "install --timeout 55s --components-extra image-reflector-controller"];
    transcript.push_str(&with_nodes(&plane, weir.transcript(&commands)).await);
    let commands = [
        "check",
        "check --components-extra image-automation-controller,source-watcher,helm-controller",
        "version",
    ];
    transcript.push_str(&with_nodes(&plane, weir.transcript(&commands)).await);
    with_nodes(&plane, weir.agrees_with_flux(&["check --pre --timeout 20s", "check --timeout 20s"])).await;
    // A rollout whose Pods nobody runs ends with the time that is given for it.
    plane
        .kubectl(&["-n", "flux-system", "rollout", "restart", "deployment/source-controller"])
        .await
        .unwrap();
    let given_up = weir.transcript(&["check --timeout 3s"]).await;
    let lines =
        "2> ◎ waiting for deployment source-controller\n2> ✗ source-controller: deployment not ready: ";
    assert!(given_up.contains(lines), "{given_up}");
    // The rest is still checked.
    assert!(given_up.ends_with("/v1\n2> ✗ check failed\n[exit status: 1]\n\n"), "{given_up}");
    let given_up = weir.transcript(&["install --timeout 10s"]).await;
    let end = "2> ✔ kustomize-controller: deployment ready\n2> ✔ notification-controller: deployment ready\n\
               2> ✗ source-controller: deployment not ready\n2>   try: kubectl -n flux-system describe deployment\n\
               2> ✗ install failed\n[exit status: 1]\n\n";
    assert!(given_up.ends_with(end), "{given_up}");
    let waited = with_nodes(&plane, weir.transcript(&["check --timeout 55s"])).await;
    assert!(waited.ends_with("2> ✔ all checks passed\n\n"), "{waited}");
    a_kept_namespace_keeps_data_alone(&plane, &weir).await;
    let provider = "create alert-provider slack --type slack --channel general";
    let commands = [provider, "uninstall", "uninstall --dry-run", "uninstall --silent --as nobody"];
    transcript.push_str(&weir.transcript(&commands).await);
    once_the_services_are_gone_a_failure_stops_nothing(&plane, &weir).await;
    an_old_flux_left_a_release(&plane).await;
    transcript.push_str(&weir.transcript(&["uninstall --silent"]).await);
    // They are on their way out when the command ends; the API server takes some seconds for each, and more on a busy machine.
    let get = ["get", "customresourcedefinition", "--output", "name"];
    // Its finalizer may find its own cache not ready (`storage is (re)initializing`) and waits for minutes then, unless the CRD changes.
    let look = std::cell::Cell::new(0);
    let gone = || async {
        if plane.kubectl(&get).await.is_ok_and(|names| names.is_empty()) {
            return Some(());
        }
        look.set(look.get() + 1);
        let wake = format!("example.com/look={}", look.get());
        let annotate = ["annotate", "customresourcedefinition", "--all", "--overwrite", &wake];
        // Those that go meanwhile are not found.
        let _ = plane.kubectl(&annotate).await;
        None
    };
    if let Err(late) = eventually("the CRDs to be gone", Duration::from_secs(240), gone).await {
        let conditions = "jsonpath={range .items[*]}{.metadata.name}: {.status.conditions}{'\\n'}{end}";
        let left = plane.kubectl(&["get", "customresourcedefinition", "--output", conditions]).await;
        panic!("{late}: {left:?}");
    }
    transcript.push_str(&weir.transcript(&["check"]).await);
    insta::assert_snapshot!(without_versions(&transcript, &plane));
}

/// CLI-UNI01: somebody who may delete nothing but the services is told of everything else that stays.
async fn once_the_services_are_gone_a_failure_stops_nothing(plane: &ControlPlane, weir: &Weir) {
    let rule = json!({"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list", "delete"]});
    let rules = [serde_json::from_value(rule).unwrap()];
    plane.service_account("flux-system", "halfway", &rules).await.unwrap();
    let uninstall = "uninstall --silent --dry-run --as system:serviceaccount:flux-system:halfway";
    let shown = weir.transcript(&[uninstall]).await;
    for line in [
        "✔ Deployment/flux-system/source-controller deleted (dry run)",
        "✗ listing Service objects failed",
        "✗ listing GitRepository objects failed",
        "✗ listing CustomResourceDefinition objects failed",
        "✗ Namespace/flux-system deletion failed",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(shown.ends_with("[exit status: 1]\n\n"), "{shown}");
}

/// Makes a HelmRelease with a finalizer, in a cluster that serves no version of the kind that the command works with.
async fn an_old_flux_left_a_release(plane: &ControlPlane) {
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "helmreleases.helm.toolkit.fluxcd.io", "labels": { "app.kubernetes.io/part-of": "flux" } },
        "spec": {
            "group": "helm.toolkit.fluxcd.io", "scope": "Namespaced",
            "names": { "kind": "HelmRelease", "plural": "helmreleases" },
            "versions": [{ "name": "v2beta1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    });
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[("helmreleases.yaml", &definition.to_string())]);
    plane.apply_crds(folder.path()).await.unwrap();
    let release = json!({
        "apiVersion": "helm.toolkit.fluxcd.io/v2beta1", "kind": "HelmRelease",
        "metadata": { "name": "podinfo", "finalizers": ["finalizers.fluxcd.io"] },
    });
    plane.apply("default", release).await.unwrap();
}

/// CLI-UNI01: all that `install` makes goes, but for the data.
async fn a_kept_namespace_keeps_data_alone(plane: &ControlPlane, weir: &Weir) {
    let labels = json!({"app.kubernetes.io/part-of": "flux"});
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "labels": labels},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "standby", "labels": labels},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "source-controller"}}},
    });
    for object in [claim, budget] {
        plane.apply("flux-system", object).await.unwrap();
    }
    let kept = weir.transcript(&["uninstall --dry-run --keep-namespace"]).await;
    for line in [
        "2> ✔ PodDisruptionBudget/flux-system/standby deleted (dry run)\n",
        "2> ⚠️ PersistentVolumeClaim/flux-system/data stays, with its data\n",
        "2> ✔ uninstall finished\n\n",
    ] {
        assert!(kept.contains(line), "{kept}");
    }
    assert!(!kept.contains("Namespace/") && kept.contains("ResourceQuota/flux-system/"), "{kept}");
    let claims = plane.api("v1", "PersistentVolumeClaim", "flux-system").await.unwrap();
    claims.delete("data", &Default::default()).await.unwrap();
}

/// The API server knows the plural and the scope of a kind, which its name does not tell.
#[tokio::test]
async fn kinds_of_users_files_have_the_plural_that_they_say() {
    let plane = ControlPlane::start().await.unwrap();
    let weir = Weir::default().with_kubeconfig(plane.kubeconfig_path());
    let folder = Folder::new("manifests").unwrap();
    folder.write("kustomization.yaml", "resources: [all.yaml]\n").unwrap();
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "geese.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"kind": "Goose", "plural": "geese"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    });
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "flux-system"}});
    let goose = json!({"apiVersion": "example.com/v1", "kind": "Goose", "metadata": {"name": "g", "namespace": "flux-system"}});
    folder.write("all.yaml", format!("{definition}\n---\n{namespace}\n")).unwrap();
    let install = format!("install --timeout 10s --manifests {}", folder.path().display());
    let first = weir.transcript(&[&install]).await;
    assert!(first.contains("2> Namespace/flux-system created\n"), "{first}");
    folder.write("all.yaml", goose.to_string()).unwrap();
    let served = || async { plane.kubectl(&["get", "geese", "-n", "flux-system"]).await.ok() };
    eventually("the kind to be served", Duration::from_secs(60), served).await.unwrap();
    let second = weir.transcript(&[&install]).await;
    assert!(second.contains("2> Goose/flux-system/g created\n"), "{second}");
}

#[tokio::test]
async fn manifests_are_printed_without_a_cluster() {
    let told = Weir::default().transcript(&["install --export"]).await;
    assert!(
        told.contains("2> ⚠️ helm-controller is not among these manifests: in a Git repository"),
        "{told}"
    );
    let yaml = Weir::default().stdout("install --export --namespace gitops").await;
    let head: Vec<_> = yaml.lines().take(6).collect();
    insta::assert_snapshot!(head.join("\n").replace(env!("CARGO_PKG_VERSION"), "[version]"));
    assert!(yaml.contains("\n---\napiVersion: apps/v1\nkind: Deployment\n"));
}

/// Flux's helm-controller works on beside Weir's services: its rights stay.
#[tokio::test]
async fn an_installation_beside_helm_controller_leaves_it_its_rights() {
    let plane = ControlPlane::start().await.unwrap();
    plane.namespace("flux-system").await.unwrap();
    let of_pods = json!({"app": "helm-controller"});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "helm-controller", "labels": {"app.kubernetes.io/part-of": "flux"}},
        "spec": {"replicas": 0, "selector": {"matchLabels": of_pods}, "template": {
            "metadata": {"labels": of_pods}, "spec": {"containers": [{"name": "manager", "image": "helm"}]}}},
    });
    plane.apply("flux-system", deployment).await.unwrap();
    let weir = Weir::default().with_kubeconfig(plane.kubeconfig_path());
    let installed = with_nodes(&plane, weir.transcript(&["install --verbose --timeout 55s"])).await;
    assert!(installed.contains("\n---\napiVersion: apps/v1\nkind: Deployment\n"), "{installed}");
    assert!(installed.ends_with("2> ✔ install finished\n\n"), "{installed}");
    let account = "system:serviceaccount:flux-system:helm-controller";
    let can = plane.kubectl(&["auth", "can-i", "create", "secrets", "--as", account]).await.unwrap();
    assert_eq!(can.trim(), "yes");
}

/// Another tool may bring back what this command takes away, or take back what it installs.
#[tokio::test]
async fn the_tool_that_manages_an_installation_is_named_before_it_is_changed() {
    let plane = ControlPlane::start().await.unwrap();
    plane.apply_crds(&weir_testkit::repo_path("deploy/kustomize/crds")).await.unwrap();
    let definition = "customresourcedefinition/gitrepositories.source.toolkit.fluxcd.io";
    let labels = ["app.kubernetes.io/managed-by=helm", "app.kubernetes.io/version=v2.9.4"];
    plane.kubectl(&[&["label", "--overwrite", definition], &labels[..]].concat()).await.unwrap();
    let weir = Weir::default().with_kubeconfig(plane.kubeconfig_path());
    let transcript = weir.transcript(&["uninstall", "install"]).await;
    let warning = "2> ⚠️ namespace flux-system has no installation; the CRDs go from all namespaces\n";
    let uninstall = "2> Flux is managed by helm! Are you sure you want to delete Flux and its CRDs using this \
                     command? [y/N] ✗ aborting\n[exit status: 1]\n";
    let install = "2> Flux v2.9.4 has been installed on this cluster with helm!\n\
                   2> Are you sure you want to override the helm installation? [y/N] ✗ installation cancelled\n[exit status: 1]\n";
    assert!(
        transcript.starts_with("$ weir uninstall\n2> ► uninstalling from namespace flux-system of http"),
        "{transcript}"
    );
    for part in [warning, uninstall, install] {
        assert!(transcript.contains(part), "{transcript}");
    }
}
