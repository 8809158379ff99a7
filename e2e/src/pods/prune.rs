//! Scenario A with Pods: an artifact of plain YAML is applied, pruned, and removed.

use anyhow::{Result, ensure};
use kube::api::DynamicObject;
use weir_testkit::{touch_requested_at, wait_for, wait_gone, wait_ready};

use super::DEADLINE;
use super::main_loop::is_rolled_out;
use super::world::World;
use crate::{Amazon, NAMESPACE};

const OBJECTS: &str = include_str!("../../tests/it/manifests/a-objects.yaml");
const TOOLKIT: &str = include_str!("../../tests/it/manifests/a-toolkit.yaml");

/// The registry, with the account that the article hides, and the image.
const ARTICLE_REGISTRY: &str = "xxxxxxx.dkr.ecr.ap-northeast-1.amazonaws.com";
const ARTICLE_IMAGE: &str = "public.ecr.aws/eks-distro/kubernetes/pause:3.7";

const ECR: &str = "123456789012.dkr.ecr.ap-northeast-1.amazonaws.com";

const REPOSITORY: &str = "oddy-test-repository";

const SERVICE: &str = "deployment/source-controller";

/// Places that Pods reach without the proxy: Services, and what is inside the cluster and on this machine.
const INSIDE: &str = "NO_PROXY=.svc,.cluster.local,10.0.0.0/8";

/// Kinds that stay, with their versions and names.
const KEPT: [(&str, &str); 3] = [
    ("Deployment", "oddy-test-deployment"),
    ("Service", "oddy-test-service"),
    ("HorizontalPodAutoscaler", "oddy-test-hpa"),
];

/// A1 to A4: the Pod of source-controller is led to a stand-in of Amazon, which gives it the password of the registry. Without moto
/// the registry is asked by its own name, and without a login.
pub(super) async fn artifact_without_budget(world: &World) -> Result<()> {
    let Some(amazon) = Amazon::start(ECR, world.registry()).await? else {
        let toolkit = TOOLKIT.replace(ARTICLE_REGISTRY, &world.cluster.registry_address());
        return play(world, &toolkit.replace("provider: aws", "provider: generic")).await;
    };
    let front = world.cluster.front_for(&amazon.address()).await?;
    let variables = amazon.environment(&front.address());
    let set = variables.iter().map(|(name, value)| format!("{name}={value}"));
    set_environment(world, set.chain([INSIDE.to_owned()])).await?;
    play(world, &TOOLKIT.replace(ARTICLE_REGISTRY, ECR)).await?;
    let posts = amazon.requests().iter().filter(|request| request.method == "POST").count();
    ensure!(posts > 0, "nobody asked Amazon for a password: {:?}", amazon.requests());
    let names = variables.iter().map(|(name, _)| name.as_str()).chain(["NO_PROXY"]);
    set_environment(world, names.map(|name| format!("{name}-"))).await
}

/// Sets variables of source-controller (`NAME=value`), or takes them away (`NAME-`), and waits for the Pod that has them.
async fn set_environment(world: &World, variables: impl Iterator<Item = String>) -> Result<()> {
    let variables: Vec<_> = variables.collect();
    let mut arguments = vec!["set", "env", "-n", NAMESPACE, SERVICE];
    arguments.extend(variables.iter().map(String::as_str));
    world.plane().kubectl(&arguments).await?;
    world.wait_for_rollout().await
}

async fn play(world: &World, toolkit: &str) -> Result<()> {
    let image = format!("{}/pause:1", world.cluster.registry_address());
    let objects = OBJECTS.replace(ARTICLE_IMAGE, &image);
    world.registry().push_artifact(REPOSITORY, "v1", &[("app.yaml", &objects)]).await?;
    world.plane().apply_yaml("default", toolkit).await?;
    let kustomizations = world.api("Kustomization", "default").await?;
    wait_ready(&kustomizations, "oddy-test", DEADLINE).await?;
    let deployments = world.api("Deployment", "default").await?;
    let runs = |object: Option<&DynamicObject>| object.is_some_and(|it| is_rolled_out(it, &image));
    wait_for(&deployments, "oddy-test-deployment", "its Pod", DEADLINE, runs).await?;

    let before = kept(world).await?;
    let (without_budget, _) = objects.rsplit_once("---\n").unwrap_or_default();
    world.registry().push_artifact(REPOSITORY, "v1", &[("app.yaml", without_budget)]).await?;
    let sources = world.api("OCIRepository", "default").await?;
    touch_requested_at(&sources, "oddy-test").await?;
    let budgets = world.api("PodDisruptionBudget", "default").await?;
    wait_gone(&budgets, "oddy-test-pdb", DEADLINE).await?;
    let after = kept(world).await?;
    ensure!(after == before, "touched by the prune: {before:?} is {after:?}");

    world.plane().delete_yaml("default", toolkit).await?;
    for (kind, name) in KEPT {
        wait_gone(&world.api(kind, "default").await?, name, DEADLINE).await?;
    }
    wait_gone(&kustomizations, "oddy-test", DEADLINE).await?;
    Ok(())
}

/// Identities and generations of what stays.
async fn kept(world: &World) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for (kind, name) in KEPT {
        let meta = world.api(kind, "default").await?.get(name).await?.metadata;
        all.push(format!("{kind}/{name} {:?} {:?}", meta.uid, meta.generation));
    }
    Ok(all)
}
