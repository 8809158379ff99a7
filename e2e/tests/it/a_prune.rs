//! A: an artifact of plain YAML is applied, pruned, and removed.

use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use weir_e2e::{World, WorldOptions};
use weir_testkit::{wait_gone, wait_ready};

const OBJECTS: &str = include_str!("manifests/a-objects.yaml");
const TOOLKIT: &str = include_str!("manifests/a-toolkit.yaml");

/// The account that the article hides.
const ACCOUNT: (&str, &str) = ("xxxxxxx.dkr.ecr", "123456789012.dkr.ecr");
const ECR: &str = "123456789012.dkr.ecr.ap-northeast-1.amazonaws.com";
/// Without moto there is no Amazon: the same with the registry itself and without its login.
const GENERIC: [(&str, &str); 2] = [
    ("oci://123456789012.dkr.ecr.ap-northeast-1.amazonaws.com/", "oci://REGISTRY/"),
    ("provider: aws", "provider: generic"),
];

const KEPT: [(&str, &str); 3] = [
    ("Deployment", "oddy-test-deployment"),
    ("Service", "oddy-test-service"),
    ("HorizontalPodAutoscaler", "oddy-test-hpa"),
];

const DEADLINE: Duration = Duration::from_secs(60);

/// The source looks again after 1m, and up to 5 % later.
const INTERVAL_DEADLINE: Duration = Duration::from_secs(80);

fn toolkit(world: &World) -> String {
    let text = TOOLKIT.replace(ACCOUNT.0, ACCOUNT.1);
    if world.amazon.is_some() {
        return text;
    }
    let text = GENERIC.iter().fold(text, |text, (from, to)| text.replace(from, to));
    text.replace("REGISTRY", world.registry.address())
}

#[tokio::test]
async fn a1_to_a4_apply_prune_and_remove() -> Result<()> {
    let options = WorldOptions { amazon: Some(ECR), ..WorldOptions::default() };
    let world = World::start_with(options).await?;
    let files = [("app.yaml", OBJECTS)];
    world.registry.push_artifact("oddy-test-repository", "v1", &files).await?;
    let stranger = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "stranger", "labels": {"app": "oddy-test"}}});
    world.plane.apply("default", stranger).await?;

    // A1: all four appear.
    let toolkit = toolkit(&world);
    world.apply("default", &toolkit).await?;
    let kustomizations = world.api("Kustomization", "default").await?;
    let ready = wait_ready(&kustomizations, "oddy-test", DEADLINE).await?;
    let inventory = ready.data["status"]["inventory"]["entries"].as_array().map_or(0, Vec::len);
    assert_eq!(inventory, 4);
    let mut versions = Vec::new();
    for (kind, name) in KEPT {
        versions.push(world.api(kind, "default").await?.get(name).await?.metadata.generation);
    }
    world.api("PodDisruptionBudget", "default").await?.get("oddy-test-pdb").await?;

    // A4: the registry's password came from Amazon.
    if let Some(amazon) = &world.amazon {
        assert!(amazon.requests().iter().any(|request| request.method == "POST"), "{:?}", amazon.requests());
    }

    // A2: the tag is pushed again without the last document; the interval brings it in.
    let (without_budget, _) = OBJECTS.rsplit_once("---\n").unwrap_or_default();
    world.registry.push_artifact("oddy-test-repository", "v1", &[("app.yaml", without_budget)]).await?;
    let budgets = world.api("PodDisruptionBudget", "default").await?;
    wait_gone(&budgets, "oddy-test-pdb", INTERVAL_DEADLINE).await?;
    for ((kind, name), version) in KEPT.iter().zip(versions) {
        let kept = world.api(kind, "default").await?.get(name).await?;
        assert_eq!(kept.metadata.generation, version, "{kind} {name} was touched");
    }
    let events = wait_for_prune_events(&world).await?;
    let finished = events.iter().filter(|event| is_finished(event)).count();
    assert!(finished >= 1, "{events:?}");

    // A3: deleting the two custom resources deletes what they made, and nothing else.
    world.plane.delete_yaml("default", &toolkit).await?;
    wait_gone(&kustomizations, "oddy-test", DEADLINE).await?;
    wait_gone(&world.api("OCIRepository", "default").await?, "oddy-test", DEADLINE).await?;
    for (kind, name) in KEPT {
        wait_gone(&world.api(kind, "default").await?, name, DEADLINE).await?;
    }
    world.api("ConfigMap", "default").await?.get("stranger").await?;
    Ok(())
}

/// Events follow the deletion that they report.
async fn wait_for_prune_events(world: &World) -> Result<Vec<String>> {
    let deleted = "Progressing: PodDisruptionBudget/default/oddy-test-pdb deleted";
    let found = weir_testkit::eventually("the event of the deletion", DEADLINE, async || {
        let events = world.events("default", "Kustomization", "oddy-test").await.ok()?;
        let told = events.iter().position(|event| event == deleted)?;
        events[told..].iter().any(|event| is_finished(event)).then_some(events)
    });
    Ok(found.await?)
}

fn is_finished(event: &str) -> bool {
    event.starts_with("ReconciliationSucceeded: Reconciliation finished in ")
        && event.ends_with(", next run in 1m0s")
}
