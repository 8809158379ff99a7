//! When a source is looked at again, as its server sees it (A9, SRC-REC-1, SRC-REC-3, SRC-REC-4).

use std::time::{Duration, Instant};

use kube::api::{Patch, PatchParams};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderValue, RETRY_AFTER};
use serde_json::{Value, json};
use weir_testkit::{GitServer, SinkAnswer, WebhookSink, eventually, touch_requested_at};

use crate::chart_server::ChartServer;
use crate::world::{DEADLINE, Setup, World};

const GIT: &str = "GitRepository";
const CHART: &str = "HelmChart";
const FIRST: Duration = Duration::from_millis(300);

async fn world() -> World {
    let arguments = vec![format!("--min-retry-delay={}ms", FIRST.as_millis())];
    World::start_as(Setup { arguments, ..Setup::default() }).await
}

/// Returns the times of the requests for a repository.
fn times(server: &GitServer, name: &str) -> Vec<Instant> {
    let path = format!("/{name}.git/info/refs");
    server.requests().into_iter().filter(|request| request.path == path).map(|request| request.at).collect()
}

async fn until_asked(server: &GitServer, name: &str, times_: usize) {
    let asked = async || (times(server, name).len() >= times_).then_some(());
    eventually(&format!("{times_} requests for {name}"), DEADLINE, asked).await.unwrap();
}

/// SRC-REC-3: each try comes after twice the time of the one before, and success starts anew.
#[tokio::test]
async fn a_failing_source_is_asked_at_growing_distances() {
    let (world, server) = (world().await, GitServer::start().await.unwrap());
    world.git("app", &server.url("app"), json!({})).await;
    until_asked(&server, "app", 5).await;
    let asked = times(&server, "app");
    for (failures, pair) in (0..).zip(asked.windows(2)) {
        let (distance, least) = (pair[1] - pair[0], FIRST * 2_u32.pow(failures));
        assert!(distance >= least, "after {failures} failures {distance:?}, not {least:?}");
    }
    let repository = server.repo("app").unwrap();
    repository.commit("main", "first", &[("a.yaml", "a")]).unwrap();
    touch_requested_at(&world.api(GIT).await, "app").await.unwrap();
    world.ready(GIT, "app").await;

    server.forget_requests();
    repository.delete_branch("main").unwrap();
    touch_requested_at(&world.api(GIT).await, "app").await.unwrap();
    until_asked(&server, "app", 2).await;
    let asked = times(&server, "app");
    // The fifth failure in a row would wait sixteen times as long.
    let distance = asked[1] - asked[0];
    assert!(distance >= FIRST && distance < FIRST * 16, "{distance:?}");
}

/// SRC-REC-1, SRC-REC-4: who is stalled waits for another spec, and labels, annotations and status are no reason to run.
#[tokio::test]
async fn nothing_is_asked_without_a_reason() {
    let (world, server, charts) =
        (world().await, GitServer::start().await.unwrap(), ChartServer::start().await);
    charts.publish("/charts", &["1.0.0"]);
    server.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    world.git("app", &server.url("app"), json!({})).await;
    world.apply("HelmRepository", "repo", json!({"url": charts.url("/charts"), "interval": "1h"})).await;
    world.ready("HelmRepository", "repo").await;
    let chart = |values: Value| {
        json!({"chart": "app", "interval": "1h", "valuesFiles": values,
            "sourceRef": {"kind": "HelmRepository", "name": "repo"}})
    };
    world.apply(CHART, "app", chart(json!(["none.yaml"]))).await;
    let (reason, _) = world.failure(CHART, "app").await;
    assert_eq!(reason, "ValuesFilesError");
    let object = world.api(CHART).await.get("app").await.unwrap();
    assert_eq!(weir_testkit::condition(&object, "Stalled").unwrap().status, "True");
    world.reconciled(GIT, "app").await;
    world.ready(GIT, "app").await;

    server.forget_requests();
    let packages = charts.count("/charts/app-1.0.0.tgz");
    for (kind, name) in [(GIT, "app"), (CHART, "app")] {
        let api = world.api(kind).await;
        for change in [
            json!({"metadata": {"labels": {"team": "web"}}}),
            json!({"metadata": {"annotations": {"team": "web"}}}),
            json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": null}}}),
        ] {
            api.patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
        }
        let condition = json!({
            "type": "Foreign", "status": "True", "reason": "Told", "message": "",
            "lastTransitionTime": "2026-01-02T03:04:05Z",
        });
        let added = json!([{"op": "add", "path": "/status/conditions/-", "value": condition}]);
        let added: Patch<()> = Patch::Json(serde_json::from_value(added).unwrap());
        api.patch_status(name, &PatchParams::default(), &added).await.unwrap();
    }
    // Another source marks the time: meanwhile four retries would have come.
    world.git("gone", &server.url("gone"), json!({})).await;
    until_asked(&server, "gone", 5).await;
    assert!(times(&server, "app").is_empty(), "a run without a reason");
    assert_eq!(charts.count("/charts/app-1.0.0.tgz"), packages, "a stalled chart is tried again");

    world.apply(CHART, "app", chart(json!(["values.yaml"]))).await;
    world.ready(CHART, "app").await;
    assert!(charts.count("/charts/app-1.0.0.tgz") > packages);
}

/// SRC-OCI-15: a server that wants to be left alone for longer than a run waits.
#[tokio::test]
async fn a_server_that_asks_for_time_gets_it() {
    let (world, server) = (world().await, GitServer::start().await.unwrap());
    let mut busy = Vec::new();
    for kind in ["HelmRepository", GIT, "OCIRepository", "Bucket", CHART] {
        let sink = WebhookSink::start().await.unwrap();
        sink.answer_with(|_| SinkAnswer {
            status: StatusCode::TOO_MANY_REQUESTS,
            headers: HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static("600"))]),
            ..SinkAnswer::default()
        });
        let host = sink.url("").replace("http://", "");
        let spec = match kind {
            GIT => json!({"url": sink.url("/app"), "interval": "1h"}),
            "OCIRepository" => {
                json!({"url": format!("oci://{host}/app"), "interval": "1h", "insecure": true})
            }
            "Bucket" => json!({"endpoint": host, "bucketName": "apps", "interval": "1h", "insecure": true}),
            CHART => {
                let registry =
                    json!({"url": format!("oci://{host}/charts"), "type": "oci", "insecure": true});
                world.apply("HelmRepository", "registry", registry).await;
                let source = json!({"kind": "HelmRepository", "name": "registry"});
                json!({"chart": "app", "version": "1.x", "interval": "1h", "sourceRef": source})
            }
            _ => json!({"url": sink.url("/charts"), "interval": "1h"}),
        };
        world.apply(kind, "busy", spec).await;
        world.failure(kind, "busy").await;
        busy.push((kind, sink.requests().len(), sink));
    }
    // Another source marks the time: meanwhile four retries would have come.
    world.git("gone", &server.url("gone"), json!({})).await;
    until_asked(&server, "gone", 5).await;
    for (kind, before, sink) in busy {
        assert!(before > 0 && sink.requests().len() == before, "{kind}: {:#?}", sink.requests());
    }
}
