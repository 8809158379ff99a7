//! `make e2e`: Weir's services as Pods of their own on a real node, from their images, as users run them.
//!
//! ```text
//!   images ─► registry ─► node ─► five Pods ─► main loop, scenarios A and B, a leader's death ─► other overlays ─► uninstall
//!   ─► scenarios C and D: bootstrap, … ─► uninstall
//! ```

mod bucket;
mod canary;
mod charts;
mod deployment;
mod fleet;
mod flux;
mod leader;
mod lockdown;
mod long_apply;
mod main_loop;
mod memory;
mod next_steps;
mod podinfo;
mod process;
mod prune;
mod shard;
mod task_tool;
mod variants;
mod webapp;
mod world;

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncBufReadExt, BufReader};

use self::charts::Charts;
use self::fleet::Fleet;
use self::flux::Flux;
use self::main_loop::MainLoop;
use self::task_tool::TaskTool;
use self::variants::Variants;
use self::webapp::Webapp;
use self::world::World;
use crate::step::step;
use crate::{NAMESPACE, Payload, SERVICES, StatusClient, weir_program};

/// A step that takes longer has failed; on a quiet machine each takes some seconds.
const DEADLINE: Duration = Duration::from_secs(120);

/// Plays everything with the images that are laid out in a folder, as `make images` writes them. With `KEEP` in the environment the
/// cluster stays at the end until Ctrl-C.
///
/// # Errors
/// The first step that did not do what it should.
pub async fn play(images: PathBuf) -> Result<()> {
    let start = Instant::now();
    ensure!(images.is_dir(), "no images in {}: run `make images` first", images.display());
    let world =
        step("Start a cluster with a node, a registry, a Git server and a webhook sink", World::start())
            .await?;
    let played = play_in(&world, &images).await;
    if played.is_err() {
        eprintln!("{}", world.state().await);
    }
    if std::env::var_os("KEEP").is_some() {
        println!("export KUBECONFIG={}", world.plane().kubeconfig_path().display());
        tokio::signal::ctrl_c().await?;
    }
    played?;
    println!("\nAll of it took {:.1} s.", start.elapsed().as_secs_f64());
    Ok(())
}

async fn play_in(world: &World, images: &std::path::Path) -> Result<()> {
    let images = step("Push the images", world.push_images(images)).await?;
    let deployment =
        step("Apply the default overlay with their digests", world.deploy(&images, "default", &[])).await?;
    step("Five Pods are ready", deployment.wait_until_ready(world)).await?;

    step("image-automation follows image-reflector", world.wait_until_followed()).await?;
    let main_loop = MainLoop::new(world)?;
    step("Commit manifests: a Pod of the application runs, people are told", main_loop.commit()).await?;
    step("Push a new image: one bot commit, then a rollout", main_loop.release("1.0.1")).await?;
    step("A webhook tells of a commit: it is applied", main_loop.push_by_webhook()).await?;
    let over_grpc = "Artifacts went between the Pods over gRPC alone, resolutions and events of kustomize-controller over it too";
    step(over_grpc, went_over_grpc(world)).await?;

    step("A person lists statuses over gRPC with a token, a stranger is refused", statuses_are_listed(world))
        .await?;

    step("`weir watch` finds the services by itself, through the API server", services_are_found(world))
        .await?;

    step("Scenario A: logged in, applied, pruned and removed", prune::artifact_without_budget(world)).await?;
    let webapp = step("Scenario B: a source and what all share", Webapp::start(world)).await?;
    step("B2: a Pod that runs and is not ready keeps its dependent waiting", webapp.dependent_waits())
        .await?;
    step("B5: a rollout to a good probe; the dependent starts at once", webapp.rollout_wakes_dependent())
        .await?;
    step("B4: ready means applied, with a Pod in ImagePullBackOff", webapp.applied_or_healthy()).await?;

    step("The memory of the Pods", memory::report(world)).await?;
    step("The leader's Pod dies in mid-apply: the standby finishes", leader::dies(world)).await?;

    let variants = Variants::new(world, &images, &main_loop);
    let with_tls = step("TLS between the services, and a standby: the loop goes on", variants.tls()).await?;
    let locked_down = lockdown::play(world, &images, &main_loop);
    let locked_down =
        step("Multi-tenancy, a volume for artifacts, NetworkPolicies: the loop goes on", locked_down).await?;
    step("One Deployment in place of five: the loop goes on", variants.single()).await?;
    let sharded =
        step("Five again, and shards beside them: the loop goes on in a shard", variants.sharded()).await?;
    step("A shard's processes die in mid-apply: the kubelet starts them again", shard::dies(world)).await?;

    let all = [deployment, with_tls, locked_down];
    step("Uninstall: nothing is left", sharded.uninstall(world, &all)).await?;
    lockdown::clean_up(world).await?;
    let flux = Flux::named()?;
    first_ten_minutes(world, flux.as_ref()).await?;
    let Some(mut flux) = flux else {
        println!("Left out: a cluster of Flux (FLUX_MANIFESTS and FLUX_*_CONTROLLER name no parts of it)");
        return Ok(());
    };
    step("Flux's own manifests", flux.install(world, &main_loop, "1.0.5")).await?;
    main_loop.release("1.0.6").await?;
    step("Weir in Flux's place: no object is changed", flux.to_weir(world, &images)).await?;
    step("The loop goes on", main_loop.release("1.0.7")).await?;
    step("Flux again: no object is changed", flux.back(world)).await?;
    step("The loop goes on", main_loop.release("1.0.8")).await
}

/// Scenarios C and D, from an empty cluster.
async fn first_ten_minutes(world: &World, flux: Option<&Flux>) -> Result<()> {
    let fleet = step("Scenario C: a private repository", Fleet::new(world)).await?;
    let task_tool = TaskTool::new(&fleet);
    step("C1: `weir bootstrap git`, twice", task_tool.bootstrap()).await?;
    step("C2 to C4: `weir create … --export`, committed: the application runs", task_tool.deploy()).await?;
    step("C5: a bump by hand rolls out", task_tool.bump()).await?;
    step("C6: `weir bootstrap git` adds the image services", task_tool.add_image_services()).await?;
    step("C6: image repository, policy and automation get ready", task_tool.automate()).await?;
    step("C7: a new image is one bot commit and a rollout", task_tool.release()).await?;
    step("D2: podinfo runs", podinfo::is_deployed(&fleet)).await?;
    step("D3: a canary's changes are left alone", canary::is_left_alone(&fleet)).await?;
    step("D3: what lies in a bucket is applied", bucket::is_applied(&fleet)).await?;
    let charts = Charts::new(&fleet).await?;
    step("D3: charts of a HelmRepository are pulled", charts.are_pulled()).await?;
    match flux {
        Some(flux) => step("C9: Flux's helm-controller releases a chart", charts.are_released(flux)).await?,
        None => println!(
            "Left out: a Helm release (FLUX_MANIFESTS and FLUX_*_CONTROLLER name no helm-controller)"
        ),
    }
    step("C9: a Secret that is encrypted in Git", next_steps::secrets_are_decrypted(&fleet)).await?;
    step("C9: a SealedSecret: ready when it is unsealed", next_steps::sealed_secrets_are_waited_for(&fleet))
        .await?;
    step("C8: `weir delete …` and `weir uninstall`: nothing is left", task_tool.clean_up()).await
}

/// Fails when an artifact took the way that stands in for gRPC, or no resolution and no event of kustomize-controller took gRPC: only
/// Service DNS and the projected token lead there. An event that is older than the notification service's readiness goes over HTTP, as
/// do those of the 30 s after it.
async fn went_over_grpc(world: &World) -> Result<()> {
    let artifacts = world.routes("kustomize-controller", Payload::Artifact).await?;
    ensure!(artifacts.is_grpc_only(), "artifacts: {artifacts:?}");
    let resolutions = world.routes("image-automation-controller", Payload::Resolution).await?;
    ensure!(resolutions.grpc > 0, "resolutions: {resolutions:?}");
    let mut all = vec![format!("artifacts {}", artifacts.grpc), format!("resolutions {}", resolutions.grpc)];
    for service in SERVICES.into_iter().filter(|service| *service != "notification-controller") {
        let events = world.routes(service, Payload::Event).await?;
        ensure!(
            events.http + events.grpc > 0 || service == "image-automation-controller",
            "{service}: {events:?}"
        );
        all.push(format!("events of {service} {}, over HTTP {}", events.grpc, events.http));
        ensure!(service != "kustomize-controller" || events.grpc > 0, "{service}: {events:?}");
    }
    println!("  {}", all.join("; "));
    Ok(())
}

/// Asks source-controller's Pod as `grpcurl` does; its review of the token is answered by the cluster.
async fn statuses_are_listed(world: &World) -> Result<()> {
    let address = format!("{}:9393", world.pod_address("source-controller").await?);
    let token = world.plane().service_account_token(NAMESPACE, "kustomize-controller").await?;
    let listed =
        StatusClient::connect(&address, &token).await?.list("GitRepository", NAMESPACE).await?.objects;
    ensure!(listed.len() == 1, "{} GitRepositories are listed", listed.len());
    let stranger = world.plane().service_account_token("default", "default").await?;
    let refused = StatusClient::connect(&address, &stranger).await?.list("GitRepository", NAMESPACE).await;
    ensure!(
        refused.as_ref().is_err_and(|status| status.code() == tonic::Code::PermissionDenied),
        "a stranger got {refused:?}"
    );
    Ok(())
}

/// Follows all services with the command until an object of each has come.
async fn services_are_found(world: &World) -> Result<()> {
    let kubeconfig = world.plane().kubeconfig_path();
    let mut watch = tokio::process::Command::new(weir_program()?);
    watch.args(["watch", "--all-namespaces", "--output=line", "--kubeconfig"]).arg(kubeconfig);
    let mut watch = watch.stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
    let mut lines = BufReader::new(watch.stdout.take().context("no output")?).lines();
    let kinds = ["GitRepository", "Kustomization", "ImagePolicy", "ImageUpdateAutomation", "Receiver"];
    let mut awaited: Vec<_> = kinds.iter().map(|kind| format!(" {kind}/{NAMESPACE}/")).collect();
    let all = async {
        while !awaited.is_empty() {
            let line = lines.next_line().await?.context("the command has ended")?;
            awaited.retain(|object| !line.contains(object));
        }
        anyhow::Ok(())
    };
    let came = tokio::time::timeout(DEADLINE, all).await;
    came.unwrap_or_else(|_| Err(anyhow::anyhow!("not in time")))
        .with_context(|| format!("no lines of {awaited:?}"))
}

/// Returns the value of a text field, for messages and comparisons.
fn text<'a>(object: &'a serde_json::Value, pointer: &str) -> Result<&'a str> {
    object.pointer(pointer).and_then(serde_json::Value::as_str).with_context(|| format!("no {pointer}"))
}
