//! Progress and outcomes of `weir reconcile` (CLI-REC01 to CLI-REC03); the test plays the service.

use serde_json::json;

use crate::world::{SHA, World, artifact, condition, ready, with};

#[tokio::test]
async fn a_kustomization_after_its_source() {
    let world = World::new("with-source").await;
    world.object("GitRepository", "podinfo").await;
    world.object("Kustomization", "podinfo").await;
    let running = world.weir().start("reconcile kustomization podinfo --with-source");
    let revision = format!("main@sha1:{SHA}");

    let token = world.requested("GitRepository", "podinfo").await;
    let handled = json!({ "lastHandledReconcileAt": token });
    let status = with(with(ready(1, "True", "Succeeded", "stored artifact"), artifact(&revision)), handled);
    world.status("GitRepository", "podinfo", status).await;

    let token = world.requested("Kustomization", "podinfo").await;
    let handled = json!({ "lastHandledReconcileAt": token, "lastAppliedRevision": revision });
    world
        .status(
            "Kustomization",
            "podinfo",
            with(ready(1, "True", "ReconciliationSucceeded", "Applied"), handled),
        )
        .await;
    insta::assert_snapshot!(running.end().await);
}

#[rstest::rstest]
#[case::oci("OCIRepository", "source oci", artifact("v1@sha256:0123"))]
#[case::bucket("Bucket", "source bucket", artifact("sha256:0123"))]
#[case::helm("HelmRepository", "source helm", artifact("sha256:0123"))]
#[case::chart("HelmChart", "source chart", artifact("6.0.3+1"))]
#[case::repository("ImageRepository", "image repository", json!({ "lastScanResult": { "revision": "r", "tagCount": 3, "scanTime": "2022-02-03T01:45:54Z" } }))]
#[case::policy("ImagePolicy", "image policy", json!({ "latestRef": { "name": "ghcr.io/x/podinfo", "tag": "6.0.1", "digest": "sha256:01" } }))]
#[case::update("ImageUpdateAutomation", "image update", json!({ "lastAutomationRunTime": "2022-02-03T01:46:59Z" }))]
#[case::receiver("Receiver", "receiver", json!({ "webhookPath": "/hook/01" }))]
#[tokio::test]
async fn each_kind_says_what_was_done(
    #[case] kind: &str,
    #[case] words: &str,
    #[case] result: serde_json::Value,
) {
    let namespace = format!("done-{}", kind.to_lowercase());
    let world = World::new(&namespace).await;
    world.object(kind, "podinfo").await;
    let running = world.weir().start(&format!("reconcile {words} podinfo"));
    let handled = json!({ "lastHandledReconcileAt": world.requested(kind, "podinfo").await });
    let status = with(with(ready(1, "True", "Succeeded", "repository up-to-date"), result), handled);
    world.status(kind, "podinfo", status).await;
    insta::assert_snapshot!(format!("done_{}", kind.to_lowercase()), running.end().await);
}

#[tokio::test]
async fn a_stalled_object_ends_the_wait() {
    let world = World::new("stalled").await;
    world.object("GitRepository", "podinfo").await;
    let running = world.weir().start("reconcile source git podinfo");
    let token = world.requested("GitRepository", "podinfo").await;
    let message = "unsupported verification mode";
    let conditions = json!([
        condition("Stalled", 1, "True", "InvalidURL", message),
        condition("Ready", 1, "False", "InvalidURL", message),
    ]);
    let status =
        json!({ "observedGeneration": 1, "lastHandledReconcileAt": token, "conditions": conditions });
    world.status("GitRepository", "podinfo", status).await;
    insta::assert_snapshot!(running.end().await);
}

#[tokio::test]
async fn an_object_that_says_nothing_is_told() {
    let world = World::new("silent").await;
    world.object("Kustomization", "podinfo").await;
    let running = world.weir().start("reconcile ks podinfo");
    let token = world.requested("Kustomization", "podinfo").await;
    let status = json!({ "observedGeneration": 1, "lastHandledReconcileAt": token, "conditions": [] });
    world.status("Kustomization", "podinfo", status).await;
    insta::assert_snapshot!(running.end().await);
}

#[tokio::test]
async fn an_object_that_is_deleted_meanwhile_is_told() {
    let world = World::new("deleted").await;
    world.object("Kustomization", "podinfo").await;
    let running = world.weir().start("reconcile ks podinfo");
    world.requested("Kustomization", "podinfo").await;
    world.api("Kustomization").await.delete("podinfo", &Default::default()).await.unwrap();
    insta::assert_snapshot!(running.end().await);
}

#[tokio::test]
async fn what_cannot_be_reconciled_is_told() {
    let world = World::new("refused").await;
    let source = json!({ "kind": "GitRepository", "name": "podinfo" });
    let suspended = json!({ "interval": "1m", "prune": true, "suspend": true, "sourceRef": source });
    world.object_with("Kustomization", "suspended", suspended).await;
    world.object("Kustomization", "nobody-listens").await;
    let source = json!({ "kind": "ExternalArtifact", "name": "podinfo" });
    world
        .object_with(
            "Kustomization",
            "external",
            json!({ "interval": "1m", "prune": true, "sourceRef": source }),
        )
        .await;
    let spec = json!({ "url": "oci://ghcr.io/stefanprodan/charts", "type": "oci" });
    world.object_with("HelmRepository", "static", spec).await;
    let source = json!({ "kind": "HelmRepository", "name": "static" });
    let chart = json!({ "chart": "podinfo", "interval": "1m", "sourceRef": source });
    world.object_with("HelmChart", "static", chart).await;
    let commands = [
        "reconcile kustomization",
        "reconcile source git",
        "reconcile kustomization nowhere",
        "reconcile kustomization suspended",
        "reconcile kustomization suspended --with-source",
        "reconcile kustomization nobody-listens --timeout 3s",
        "reconcile kustomization nobody-listens --with-source",
        "reconcile kustomization external --with-source",
        "reconcile source helm static",
        "reconcile source chart static --with-source --timeout 1s",
        "reconcile source external podinfo",
        "reconcile artifact generator podinfo",
        "suspend source external podinfo",
        "reconcile alert slack",
    ];
    insta::assert_snapshot!(world.weir().transcript(&commands).await);
}

/// The service will try again; who asked learns at once what is wrong.
#[tokio::test]
async fn a_request_that_failed_ends_the_wait() {
    let world = World::new("failed").await;
    world.object("GitRepository", "podinfo").await;
    let running = world.weir().start("reconcile source git podinfo");
    let token = world.requested("GitRepository", "podinfo").await;
    let message = "failed to checkout and determine revision: authentication required";
    let conditions = json!([
        condition("Reconciling", 1, "True", "ProgressingWithRetry", message),
        condition("Ready", 1, "False", "GitOperationFailed", message),
    ]);
    let status =
        json!({ "observedGeneration": 1, "lastHandledReconcileAt": token, "conditions": conditions });
    world.status("GitRepository", "podinfo", status).await;
    insta::assert_snapshot!(running.end().await);
}

/// CLI-REC03, CLI-REC04: the chart's repository, the chart, then the release.
#[tokio::test]
async fn a_helm_release_after_its_chart() {
    let world = World::with_helm("release-sources").await;
    let source = json!({ "kind": "HelmRepository", "name": "charts" });
    world.object("HelmRepository", "charts").await;
    let chart = json!({ "chart": "podinfo", "interval": "1m", "sourceRef": source });
    world.object_with("HelmChart", "release-sources-podinfo", chart).await;
    let chart = json!({ "spec": { "chart": "podinfo", "sourceRef": source } });
    world.object_with("HelmRelease", "podinfo", json!({ "interval": "1m", "chart": chart })).await;
    let running = world.weir().start("reconcile hr podinfo --with-source --force --reset");
    for (kind, name, result) in [
        ("HelmRepository", "charts", artifact("sha256:0123")),
        ("HelmChart", "release-sources-podinfo", artifact("6.3.5")),
        ("HelmRelease", "podinfo", json!({ "history": [{ "chartVersion": "6.3.5" }] })),
    ] {
        let token = world.requested(kind, name).await;
        let object = world.api(kind).await.get(name).await.unwrap();
        let annotations = object.metadata.annotations.unwrap();
        let marks =
            ["forceAt", "resetAt"].map(|mark| annotations.get(&format!("reconcile.fluxcd.io/{mark}")));
        assert_eq!(marks, if kind == "HelmRelease" { [Some(&token); 2] } else { [None; 2] }, "{kind}");
        let handled = json!({ "lastHandledReconcileAt": token });
        world.status(kind, name, with(with(ready(1, "True", "Succeeded", "done"), result), handled)).await;
    }
    insta::assert_snapshot!(running.end().await);
}

#[tokio::test]
async fn a_helm_release_after_the_source_that_it_names() {
    let world = World::with_helm("release-chart-ref").await;
    world.object("OCIRepository", "podinfo").await;
    let reference = |kind: &str| json!({ "interval": "1m", "chartRef": { "kind": kind, "name": "podinfo" } });
    world.object_with("HelmRelease", "podinfo", reference("OCIRepository")).await;
    world.object_with("HelmRelease", "odd", reference("GitRepository")).await;
    let running = world.weir().start("reconcile hr podinfo --with-source");
    for (kind, result) in [
        ("OCIRepository", artifact("v1@sha256:0123")),
        ("HelmRelease", json!({ "history": [{ "chartVersion": "6.3.5" }] })),
    ] {
        let handled = json!({ "lastHandledReconcileAt": world.requested(kind, "podinfo").await });
        world
            .status(kind, "podinfo", with(with(ready(1, "True", "Succeeded", "done"), result), handled))
            .await;
    }
    let transcript =
        running.end().await + &world.weir().transcript(&["reconcile hr odd --with-source"]).await;
    insta::assert_snapshot!(transcript);
}

/// CLI-REC01: Flux gets the object again and again. An account that may do that and no more need not list or watch it.
#[tokio::test]
async fn an_account_needs_the_rights_that_it_needs_for_flux() {
    let world = World::with_helm("getter").await;
    world.object("GitRepository", "podinfo").await;
    let resources = ("source.toolkit.fluxcd.io", &["gitrepositories"][..]);
    let token = world.plane.token_for("getter", "ci", resources, &["get", "patch"]).await.unwrap();
    let weir = world.weir().with_kubeconfig(&world.plane.kubeconfig_for(&token).unwrap());
    let running = weir.start("reconcile source git podinfo");
    let handled = json!({ "lastHandledReconcileAt": world.requested("GitRepository", "podinfo").await });
    let status =
        with(ready(1, "True", "Succeeded", "stored artifact"), artifact(&format!("main@sha1:{SHA}")));
    world.status("GitRepository", "podinfo", with(status, handled)).await;
    let printed = running.end().await;
    assert!(printed.ends_with(&format!("2> ✔ fetched revision main@sha1:{SHA}\n")), "{printed}");
    let asked = world.plane.audited_requests().unwrap().into_iter();
    let asked = asked.filter(|it| it.user.ends_with("getter:ci") && it.resource == "gitrepositories");
    let asked: Vec<_> = asked.map(|it| (it.verb, it.code)).collect();
    assert_eq!(asked, [("get".to_owned(), 200), ("list".to_owned(), 403), ("patch".to_owned(), 200)]);
}
