//! Tables, selectors and the errors of `weir get` (CLI-GET01 to CLI-GET07).

use futures::{StreamExt, stream};
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use weir_testkit::ControlPlane;

use crate::weir::{DEADLINE, Weir, visible};
use crate::world::{SHA, World, artifact, ready, with};

/// One object of each kind, and a few that are not well.
async fn fleet(namespace: &str) -> World {
    let world = World::new(namespace).await;
    let revision = format!("main@sha1:{SHA}");
    world.object("GitRepository", "podinfo").await;
    let stored = format!("stored artifact for revision '{revision}'");
    let status = with(ready(1, "True", "Succeeded", &stored), artifact(&revision));
    world.status("GitRepository", "podinfo", status).await;
    world.object("OCIRepository", "podinfo").await;
    let digest = format!("v1@sha256:{}", "b".repeat(64));
    let status = with(
        ready(1, "True", "Succeeded", &format!("stored artifact for digest '{digest}'")),
        artifact(&digest),
    );
    world.status("OCIRepository", "podinfo", status).await;

    for (kind, revision, message) in [
        ("Bucket", format!("sha256:{}", "c".repeat(64)), "stored artifact: revision 'x'"),
        ("HelmRepository", format!("sha256:{}", "d".repeat(64)), "stored artifact: revision 'x'"),
        ("HelmChart", format!("6.0.3+{SHA}"), "pulled 'podinfo' chart with version '6.0.3'"),
        ("ExternalArtifact", format!("latest@sha256:{}", "e".repeat(64)), "Artifact is ready"),
    ] {
        world.object(kind, "podinfo").await;
        let mut status = with(ready(1, "True", "Succeeded", message), artifact(&revision));
        if kind == "ExternalArtifact" {
            status.as_object_mut().unwrap().remove("observedGeneration");
        }
        world.status(kind, "podinfo", status).await;
    }
    let spec = json!({ "url": "oci://ghcr.io/stefanprodan/charts", "type": "oci" });
    world.object_with("HelmRepository", "static", spec).await;
    world.object_with("ExternalArtifact", "unknown-origin", json!({})).await;
    world.object("ArtifactGenerator", "podinfo").await;
    let pause = Patch::Merge(json!({ "metadata": {
        "annotations": { "source.extensions.fluxcd.io/reconcile": "Disabled" } } }));
    world.api("ArtifactGenerator").await.patch("podinfo", &PatchParams::default(), &pause).await.unwrap();

    world.object("Kustomization", "podinfo").await;
    let applied = format!("Applied revision: {revision}");
    let status = with(
        ready(1, "True", "ReconciliationSucceeded", &applied),
        json!({ "lastAppliedRevision": revision }),
    );
    world.status("Kustomization", "podinfo", status).await;
    world.object("Kustomization", "frontend").await;
    let waits = "dependency 'flux-system/webapp-backend' is not ready";
    world.status("Kustomization", "frontend", ready(1, "False", "DependencyNotReady", waits)).await;
    let source = json!({ "kind": "OCIRepository", "name": "podinfo", "namespace": "other" });
    let spec = json!({ "interval": "1m", "prune": false, "suspend": true, "sourceRef": source });
    world.object_with("Kustomization", "new", spec).await;

    world.object("ImageRepository", "podinfo").await;
    let scan = json!({ "lastScanResult": { "revision": "sha256:1", "tagCount": 3, "scanTime": "2022-02-03T01:45:54Z", "latestTags": ["1.1.1"] } });
    let status = with(ready(1, "True", "Succeeded", "successful scan, found 3 tags"), scan);
    world.status("ImageRepository", "podinfo", status).await;
    world.object("ImagePolicy", "podinfo").await;
    let resolved = "Latest image tag for 'ghcr.io/stefanprodan/podinfo' resolved to 6.0.1";
    let latest = json!({ "latestRef": { "name": "ghcr.io/stefanprodan/podinfo", "tag": "6.0.1" } });
    world.status("ImagePolicy", "podinfo", with(ready(1, "True", "Succeeded", resolved), latest)).await;
    world.object("ImageUpdateAutomation", "podinfo").await;
    let made = "no updates made; last commit b5d4c12 at 2022-02-03T01:45:59Z";
    let run = json!({ "lastAutomationRunTime": "2022-02-03T01:46:59Z" });
    world.status("ImageUpdateAutomation", "podinfo", with(ready(1, "True", "Succeeded", made), run)).await;

    world.object("Receiver", "github").await;
    let path = "Receiver initialized for path: /hook/0123";
    world.status("Receiver", "github", ready(1, "True", "Succeeded", path)).await;
    world.object("Provider", "slack").await;
    world.object("Alert", "slack").await;
    world
}

const TABLES: [&str; 20] = [
    "get sources git",
    "get sources oci",
    "get sources bucket",
    "get sources helm",
    "get sources chart",
    "get sources external",
    "get artifacts generators",
    "get artifact generator podinfo",
    "get kustomizations",
    "get ks podinfo --show-source",
    "get kustomizations --show-source",
    "get images repository",
    "get images policy",
    "get images update",
    "get receivers",
    "get alert-providers",
    "get alerts",
    "get sources all",
    "get images all --no-header",
    "get all",
];

#[tokio::test]
async fn every_kind_has_its_table() {
    let weir = fleet("tables").await.weir();
    insta::assert_snapshot!(weir.transcript(&TABLES).await);
}

/// CLI-GET07: a list that is longer than what is read of it at once, in the order of the names; nothing of it is lost.
#[tokio::test]
async fn long_lists_are_read_to_their_end() {
    let world = World::new("pages").await;
    let names: Vec<_> = (0..1100).map(|number| format!("app-{number:04}")).collect();
    let made = stream::iter(&names).map(|name| world.object("GitRepository", name));
    made.buffer_unordered(20).collect::<()>().await;
    let weir = world.weir();
    let table = weir.stdout("get sources git --no-header").await;
    let listed: Vec<_> = table.lines().filter_map(|line| line.split('\t').next()).map(str::trim).collect();
    assert_eq!(listed, names);
    let listed = weir.stdout("get sources git --output name").await;
    let expected: Vec<_> =
        names.iter().map(|name| format!("gitrepository.source.toolkit.fluxcd.io/{name}")).collect();
    assert_eq!(listed.lines().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn flux_prints_the_same_tables() {
    let weir = fleet("tables-flux").await.weir();
    weir.agrees_wholly_with_flux(&TABLES).await;
    let selections = [
        "get kustomizations --status-selector ready=false",
        "get kustomizations --status-selector ready=unknown",
        "get all --status-selector ready=false",
        "get kustomization -l 'app in (podinfo, other),of=tables-flux' --all-namespaces",
        "get kustomizations nowhere",
        "get kustomizations --status-selector ready",
        "get all --watch",
        "get sources git -n no-such-namespace",
        "get -A=false --no-header ks -n nowhere -n tables-flux",
        "get all podinfo",
        "get sources all podinfo",
    ];
    weir.agrees_wholly_with_flux(&selections).await;
}

#[tokio::test]
async fn objects_are_selected_by_status_label_and_namespace() {
    let weir = fleet("selectors").await.weir();
    let commands = [
        "get kustomizations --status-selector ready=false",
        "get kustomizations --status-selector Ready!=True",
        "get kustomizations --status-selector ready=unknown",
        "get kustomizations --status-selector=",
        "get kustomization -l 'app in (podinfo, other),of=selectors' --all-namespaces",
        "get source git -n default -A -l of=selectors",
        "get all --status-selector ready=false",
        "get alerts --status-selector ready=false",
        "get --status-selector ready=false -A=false kustomizations",
        "get sources --no-header all podinfo",
    ];
    insta::assert_snapshot!(weir.transcript(&commands).await);
}

#[tokio::test]
async fn times_are_those_of_the_reader() {
    let weir = fleet("times").await.weir().with_env("TZ", "Asia/Tokyo");
    insta::assert_snapshot!(weir.transcript(&["get image repository", "get image update"]).await);
}

#[tokio::test]
async fn what_is_not_there_is_an_error() {
    let weir = World::new("empty").await.weir();
    let commands = [
        "get kustomizations",
        "get kustomizations podinfo",
        "get sources git -A -l of=nothing",
        "get all",
        "get kustomizations -n Not_A_Label",
        "get kustomizations --status-selector ready",
        "get kustomizations -l 'a in b'",
        "get all --watch",
        "get helmreleases",
        "get kustomizations --nope",
        "get kustomizations --context nope",
        "get kustomizations --token wrong",
        "get kustomizations --as nobody",
    ];
    insta::assert_snapshot!(weir.transcript(&commands).await);
}

#[tokio::test]
async fn kinds_that_are_not_installed_are_left_out_of_lists() {
    let plane = ControlPlane::start().await.unwrap();
    let weir = Weir::default().with_kubeconfig(plane.kubeconfig_path());
    insta::assert_snapshot!(weir.transcript(&["get all", "get kustomizations"]).await);
    // A plan needs two kinds, and names the one that is missing.
    let crds = weir_testkit::Folder::new("sources").unwrap();
    let name = "source.toolkit.fluxcd.io_gitrepositories.yaml";
    let crd = weir_testkit::repo_path("deploy/kustomize/crds").join(name);
    std::fs::copy(crd, crds.path().join(name)).unwrap();
    plane.apply_crds(crds.path()).await.unwrap();
    let source = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": { "name": "podinfo" },
        "spec": { "url": "https://example.com/x", "interval": "1m" },
    });
    plane.apply("default", source).await.unwrap();
    let transcript = weir.transcript(&["plan source git podinfo -n default --path ."]).await;
    assert!(transcript.contains("2> ✗ no matches for kind \"Kustomization\" in version"), "{transcript}");
}

#[tokio::test]
async fn a_watch_prints_each_change_as_a_row_until_the_timeout() {
    let world = World::new("rows").await;
    world.object("Kustomization", "app").await;
    let mut watch = world.weir().start("get kustomizations --watch --timeout 6s");
    let mut lines = BufReader::new(watch.child.stdout.take().unwrap()).lines();
    let mut shown = Vec::new();
    for _ in 0..2 {
        shown.push(lines.next_line().await.unwrap().unwrap());
    }
    world.status("Kustomization", "app", ready(1, "Unknown", "Progressing", "Building manifests")).await;
    shown.push(tokio::time::timeout(DEADLINE, lines.next_line()).await.unwrap().unwrap().unwrap());
    let shown = visible(shown.join("\n").as_bytes(), "");
    insta::assert_snapshot!(format!("{shown}{}", watch.end().await));
}

/// CLI-GET05: `weir get ks --watch | head -1` is done when `head` is.
#[tokio::test]
async fn a_watch_begins_with_the_header_and_ends_with_its_reader() {
    let world = World::new("reader").await;
    world.object("Kustomization", "app").await;
    let mut watch = world.weir().start("get kustomizations --watch --status-selector ready=true");
    let mut lines = BufReader::new(watch.child.stdout.take().unwrap()).lines();
    let header = tokio::time::timeout(DEADLINE, lines.next_line()).await.unwrap().unwrap().unwrap();
    assert!(header.starts_with("NAME"), "{header}");
    drop(lines);
    world.status("Kustomization", "app", ready(1, "True", "ReconciliationSucceeded", "Applied")).await;
    let ended = tokio::time::timeout(DEADLINE, watch.child.wait()).await;
    assert!(ended.unwrap().unwrap().success());
}
