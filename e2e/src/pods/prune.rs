//! Scenario A with Pods: an artifact of plain YAML is applied, pruned, and removed.

use anyhow::{Result, ensure};
use kube::api::DynamicObject;
use weir_testkit::{touch_requested_at, wait_for, wait_gone, wait_ready};

use super::DEADLINE;
use super::main_loop::is_rolled_out;
use super::world::World;

const OBJECTS: &str = include_str!("../../tests/it/manifests/a-objects.yaml");
const TOOLKIT: &str = include_str!("../../tests/it/manifests/a-toolkit.yaml");

/// The registry, and the image, that the article has.
const ARTICLE_REGISTRY: &str = "xxxxxxx.dkr.ecr.ap-northeast-1.amazonaws.com";
const ARTICLE_IMAGE: &str = "public.ecr.aws/eks-distro/kubernetes/pause:3.7";

const REPOSITORY: &str = "oddy-test-repository";

/// Kinds that stay, with their versions and names.
const KEPT: [(&str, &str, &str); 3] = [
    ("apps/v1", "Deployment", "oddy-test-deployment"),
    ("v1", "Service", "oddy-test-service"),
    ("autoscaling/v2", "HorizontalPodAutoscaler", "oddy-test-hpa"),
];

/// A1 to A3. The login of A4 needs Amazon, which processes have a stand-in of and Pods have not.
pub(super) async fn artifact_without_budget(world: &World) -> Result<()> {
    let registry = world.cluster.registry_address();
    let image = format!("{registry}/pause:1");
    let objects = OBJECTS.replace(ARTICLE_IMAGE, &image);
    let toolkit = TOOLKIT.replace(ARTICLE_REGISTRY, &registry).replace("provider: aws", "provider: generic");
    world.registry().push_artifact(REPOSITORY, "v1", &[("app.yaml", &objects)]).await?;
    world.plane().apply_yaml("default", &toolkit).await?;
    let kustomizations = world.api("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "default").await?;
    wait_ready(&kustomizations, "oddy-test", DEADLINE).await?;
    let deployments = world.api("apps/v1", "Deployment", "default").await?;
    let runs = |object: Option<&DynamicObject>| object.is_some_and(|it| is_rolled_out(it, &image));
    wait_for(&deployments, "oddy-test-deployment", "its Pod", DEADLINE, runs).await?;

    let before = kept(world).await?;
    let (without_budget, _) = objects.rsplit_once("---\n").unwrap_or_default();
    world.registry().push_artifact(REPOSITORY, "v1", &[("app.yaml", without_budget)]).await?;
    let sources = world.api("source.toolkit.fluxcd.io/v1", "OCIRepository", "default").await?;
    touch_requested_at(&sources, "oddy-test").await?;
    let budgets = world.api("policy/v1", "PodDisruptionBudget", "default").await?;
    wait_gone(&budgets, "oddy-test-pdb", DEADLINE).await?;
    let after = kept(world).await?;
    ensure!(after == before, "touched by the prune: {before:?} is {after:?}");

    world.plane().delete_yaml("default", &toolkit).await?;
    for (version, kind, name) in KEPT {
        wait_gone(&world.api(version, kind, "default").await?, name, DEADLINE).await?;
    }
    wait_gone(&kustomizations, "oddy-test", DEADLINE).await?;
    Ok(())
}

/// Identities and generations of what stays.
async fn kept(world: &World) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for (version, kind, name) in KEPT {
        let meta = world.api(version, kind, "default").await?.get(name).await?.metadata;
        all.push(format!("{kind}/{name} {:?} {:?}", meta.uid, meta.generation));
    }
    Ok(all)
}
