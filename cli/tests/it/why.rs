//! `weir why`: what an object waits for, and what would unblock it.

use serde_json::{Value, json};

use crate::world::{World, artifact, ready, with};

const COMMANDS: [&str; 14] = [
    "why kustomization/apps",
    "why ks infra",
    "why kustomization/well",
    "why kustomization/lost",
    "why gitrepository/fleet",
    "why imageupdateautomation/podinfo",
    "why alert/podinfo",
    "why kustomization/ring",
    "why kustomization/level-3",
    "why kustomization/nowhere",
    "why nothing/x",
    "why kustomizaton/x",
    "why kustomization.kustomize.toolkit.fluxcd.io/nowhere",
    "why kustomization",
];

async fn kustomization(world: &World, name: &str, source: &str, fields: Value, status: Value) {
    let mut spec =
        json!({ "interval": "10m", "prune": true, "sourceRef": { "kind": "GitRepository", "name": source } });
    spec.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    world.object_with("Kustomization", name, spec).await;
    world.status("Kustomization", name, status).await;
}

/// A Kustomization that waits for another one, whose source cannot be fetched and whose Deployment does not start; a chain
/// below a suspended parent; an automation without a tag to set.
async fn world(namespace: &str) -> World {
    let world = World::new(namespace).await;
    let fleet =
        json!({ "url": "https://example.com/fleet", "interval": "1m", "secretRef": { "name": "key" } });
    world.object_with("GitRepository", "fleet", fleet).await;
    let failed =
        ready(1, "False", "GitOperationFailed", "failed to checkout: authentication required\nTry again");
    world.status("GitRepository", "fleet", failed).await;
    world.object("GitRepository", "well").await;
    world
        .status(
            "GitRepository",
            "well",
            with(ready(1, "True", "Succeeded", "stored artifact"), artifact("main@sha1:0123")),
        )
        .await;
    let depends = |name: &str| json!({ "dependsOn": [{ "name": name }] });
    let waits = ready(1, "False", "DependencyNotReady", "dependency not ready");
    kustomization(&world, "apps", "well", depends("infra"), waits.clone()).await;
    let entries = json!([
        { "id": format!("{namespace}_web_apps_Deployment"), "v": "v1" },
        { "id": format!("{namespace}_gone__ConfigMap"), "v": "v1" },
    ]);
    let unhealthy =
        ready(1, "False", "HealthCheckFailed", "timeout waiting for: [Deployment/web status: 'InProgress']");
    let unhealthy = with(unhealthy, json!({ "inventory": { "entries": entries } }));
    kustomization(&world, "infra", "fleet", json!({ "wait": true }), unhealthy).await;
    kustomization(
        &world,
        "root",
        "well",
        json!({ "suspend": true }),
        ready(1, "True", "Succeeded", "Applied"),
    )
    .await;
    kustomization(
        &world,
        "well",
        "well",
        json!({}),
        ready(1, "True", "Succeeded", "Applied revision: main@sha1:0123"),
    )
    .await;
    let owner = json!({ "metadata": { "labels": {
        "kustomize.toolkit.fluxcd.io/name": "root", "kustomize.toolkit.fluxcd.io/namespace": namespace,
    } } });
    let api = world.api("Kustomization").await;
    api.patch("well", &Default::default(), &kube::api::Patch::Merge(owner)).await.unwrap();
    kustomization(&world, "lost", "nowhere", json!({}), json!({})).await;
    kustomization(&world, "ring", "well", depends("round"), waits.clone()).await;
    kustomization(&world, "round", "well", depends("ring"), waits.clone()).await;
    diamonds(&world, &waits).await;
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" },
        "spec": {
            "replicas": 1, "selector": { "matchLabels": { "app": "web" } },
            "template": { "metadata": { "labels": { "app": "web" } }, "spec": { "containers": [{ "name": "web", "image": "web" }] } },
        },
    });
    world.plane.apply(namespace, deployment).await.unwrap();
    let automation = json!({
        "interval": "1m", "sourceRef": { "kind": "GitRepository", "name": "well" },
        "git": { "commit": { "author": { "email": "bot@example.com" } } },
    });
    world.object_with("ImageUpdateAutomation", "podinfo", automation).await;
    world
        .status("ImageUpdateAutomation", "podinfo", ready(1, "True", "Succeeded", "repository up-to-date"))
        .await;
    world.object("ImageRepository", "podinfo").await;
    world.status("ImageRepository", "podinfo", ready(1, "True", "Succeeded", "successful scan")).await;
    world.object("ImagePolicy", "podinfo").await;
    world.status("ImagePolicy", "podinfo", ready(1, "False", "NoMatchingTag", "no tag matches 6.x")).await;
    world.object("Alert", "podinfo").await;
    world
}

/// Levels of Kustomizations, each with two ways down to the next one: 2^3 ways to the last.
async fn diamonds(world: &World, waits: &Value) {
    for level in 0..4 {
        let below = json!({ "dependsOn": [{ "name": format!("level-{}", level - 1) }, { "name": format!("beside-{}", level - 1) }] });
        let below = if level == 0 { json!({}) } else { below };
        for name in [format!("level-{level}"), format!("beside-{level}")] {
            kustomization(world, &name, "well", below.clone(), waits.clone()).await;
        }
    }
}

/// Hides ages, which grow, and the times of objects that the test has made.
fn without_ages(transcript: &str) -> String {
    let ages = regex::Regex::new(r"for [0-9a-z]+, since [0-9TZ:.-]+").unwrap();
    ages.replace_all(transcript, "for [age]").into_owned()
}

#[tokio::test]
async fn one_screen_says_what_is_waited_for_and_what_helps() {
    let transcript = world("why").await.weir().transcript(&COMMANDS).await;
    insta::assert_snapshot!(without_ages(&transcript));
}
