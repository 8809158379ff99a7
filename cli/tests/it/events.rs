//! `weir events` (CLI-EVT01).

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::weir::DEADLINE;
use crate::world::World;

const COMMANDS: [&str; 18] = [
    "events",
    "events --types warning",
    "events --types Normal,Warning --for Kustomization",
    "events --for kustomization/podinfo",
    "events --for Kustomization/elsewhere",
    "events --for HelmRelease/podinfo",
    "events --for Alert/podinfo",
    "events --for ImagePolicy/podinfo",
    "events --for HelmChart/podinfo",
    "events --for GitRepository/nowhere",
    "events --for Kustomization/nowhere",
    "events --for ConfigMap/podinfo",
    "events --for ExternalArtifact",
    "events --types Other",
    "events -n default",
    "events -n no-such-namespace",
    "events --for Provider -n default",
    "events --for Bucket/none -A",
];

/// Makes an event about an object; times are years ago, so that ages stay the same while a test runs.
async fn event(world: &World, name: &str, kind: &str, object: &str, fields: Value) {
    let mut event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": { "name": name },
        "involvedObject": { "kind": kind, "name": object, "namespace": world.namespace },
        "type": "Normal", "reason": "Progressing", "message": format!("about {name}"),
        "firstTimestamp": "2020-02-03T01:37:54Z", "lastTimestamp": "2021-02-03T01:37:54Z",
    });
    event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    world.plane.apply(&world.namespace, event).await.unwrap();
}

async fn world(namespace: &str) -> World {
    let world = World::with_helm(namespace).await;
    for kind in ["Kustomization", "Alert", "ImagePolicy", "HelmChart"] {
        world.object(kind, "podinfo").await;
    }
    let elsewhere = json!({
        "interval": "10m", "prune": true, "sourceRef": { "kind": "GitRepository", "name": "podinfo", "namespace": "default" },
    });
    world.object_with("Kustomization", "elsewhere", elsewhere).await;
    let chart = json!({ "chart": { "spec": { "chart": "podinfo", "sourceRef": { "kind": "HelmRepository", "name": "podinfo" } } } });
    world.object_with("HelmRelease", "podinfo", chart).await;
    let warning = json!({ "type": "Warning", "reason": "BuildFailed", "lastTimestamp": "2021-05-01T00:00:00Z", "count": 7 });
    event(&world, "second", "Kustomization", "podinfo", warning).await;
    event(&world, "first", "GitRepository", "podinfo", json!({})).await;
    event(&world, "third", "Kustomization", "elsewhere", json!({ "lastTimestamp": "2021-06-01T00:00:00Z" }))
        .await;
    // All namespaces are searched for it: those of other tests have none of this name.
    event(&world, "only", "GitRepository", &format!("of-{namespace}"), json!({})).await;
    event(&world, "provider", "Provider", "slack", json!({})).await;
    event(&world, "repository", "ImageRepository", "podinfo", json!({})).await;
    event(&world, "index", "HelmRepository", "podinfo", json!({})).await;
    event(&world, "chart", "HelmChart", &format!("{namespace}-podinfo"), json!({})).await;
    event(&world, "foreign", "ConfigMap", "podinfo", json!({})).await;
    event(&world, "artifact", "ExternalArtifact", "podinfo", json!({})).await;
    let series = json!({
        "eventTime": "2021-01-01T00:00:00.000000Z", "series": { "count": 3, "lastObservedTime": "2021-07-01T00:00:00.000000Z" },
        "action": "x", "reportingComponent": "kustomize-controller", "reportingInstance": "x", "firstTimestamp": null, "lastTimestamp": null,
        "message": "two\nlines",
    });
    event(&world, "series", "Kustomization", "podinfo", series).await;
    world
}

/// Hides the number of years, which grows.
fn without_years(transcript: &str) -> String {
    regex::Regex::new(r"\d+y\d*d?\)?[ →]*").unwrap().replace_all(transcript, "[age]→").into_owned()
}

#[tokio::test]
async fn events_are_those_of_the_kinds_and_of_what_objects_refer_to() {
    let everywhere = "events --for GitRepository/of-events -A";
    let weir = world("events").await.weir();
    let transcript = weir.transcript(&[&COMMANDS[..], &[everywhere]].concat()).await;
    assert_eq!(
        weir.stdout("events --for ks/podinfo").await,
        weir.stdout("events --for Kustomization/podinfo").await
    );
    insta::assert_snapshot!(without_years(&transcript));
}

#[tokio::test]
async fn flux_shows_the_same_events() {
    let everywhere = "events --for GitRepository/of-events-flux -A";
    let commands = [&COMMANDS[..], &[everywhere]].concat();
    // For an object without a known kind, this command names the kinds.
    let is_none =
        |command: &&str| command.ends_with("ConfigMap/podinfo") || command.ends_with("ExternalArtifact");
    let (without_kind, commands): (Vec<_>, Vec<_>) = commands.into_iter().partition(is_none);
    let weir = world("events-flux").await.weir();
    weir.agrees_wholly_with_flux(&commands).await;
    weir.agrees_with_flux(&without_kind).await;
}

#[tokio::test]
async fn later_events_are_printed_as_they_come_until_the_timeout() {
    let world = World::with_helm("events-live").await;
    event(&world, "first", "GitRepository", "podinfo", json!({})).await;
    let mut running = world.weir().start("events --watch --timeout 10s");
    let mut lines = BufReader::new(running.child.stdout.take().unwrap()).lines();
    for start in ["LAST SEEN", ""] {
        assert!(lines.next_line().await.unwrap().unwrap().starts_with(start));
    }
    event(&world, "second", "Kustomization", "podinfo", json!({})).await;
    let line = lines.next_line().await.unwrap().unwrap();
    assert!(line.contains("Kustomization/podinfo\tabout second"), "{line}");
    assert!(running.child.wait().await.unwrap().success());
}

/// `weir events --watch | head -1` is done when `head` is.
#[tokio::test]
async fn a_watch_ends_with_its_reader() {
    let world = World::with_helm("events-reader").await;
    event(&world, "first", "GitRepository", "podinfo", json!({})).await;
    let mut running = world.weir().start("events --watch");
    let mut lines = BufReader::new(running.child.stdout.take().unwrap()).lines();
    assert!(lines.next_line().await.unwrap().unwrap().starts_with("LAST SEEN"));
    drop(lines);
    event(&world, "second", "Kustomization", "podinfo", json!({})).await;
    let ended = tokio::time::timeout(DEADLINE, running.child.wait()).await;
    assert!(ended.unwrap().unwrap().success());
}
