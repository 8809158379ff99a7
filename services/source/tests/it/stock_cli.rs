//! Flux's own command line against this service (A10, C6, SRC-CLI-1, SRC-CLI-2, SRC-API-9). `FLUX_CLI` names it.

use kube::api::{Patch, PatchParams};
use serde_json::json;
use weir_testkit::object::kustomization;
use weir_testkit::{ControlPlane, FluxCli, Folder, Registry, eventually, flux_program};

use crate::every_kind::Remotes;
use crate::world::{DEADLINE, Plane, Setup, World, paths};

struct Flux {
    cli: FluxCli,
    world: World,
}

impl Flux {
    /// A world of its own, since some commands go over the whole cluster; `None` without the program.
    async fn start() -> Option<Self> {
        flux_program("FLUX_CLI").unwrap()?;
        let plane = Plane::Own(Box::new(ControlPlane::start().await.unwrap()));
        let world = World::start_on(plane, Setup::default()).await;
        Some(Self { cli: FluxCli::find(&world.plane, &world.namespace).unwrap()?, world })
    }

    async fn try_run(&self, line: &str) -> (bool, String) {
        self.cli.try_run(line).await.unwrap()
    }

    /// Runs a command that succeeds and prints all these words.
    async fn run(&self, line: &str, words: &[&str]) -> String {
        let printed = self.cli.run(line, words).await;
        printed.unwrap_or_else(|error| panic!("{error}\n{}", self.world.controller.log_tail()))
    }
}

/// For each command the flags of `create`, and words of a line of `get`. A chart's repository comes before it.
fn commands(remotes: &Remotes) -> [(&'static str, String, &'static str); 5] {
    let Remotes { git, registry, bucket, charts } = remotes;
    let oci = registry.url("app");
    [
        ("git", format!("--url={} --branch=main", git.url("app")), "main@sha1:"),
        ("oci", format!("--url={oci} --tag=v1 --insecure"), "v1@sha256:"),
        ("bucket", format!("--bucket-name=apps --endpoint={} --insecure", bucket.endpoint()), "sha256:"),
        ("helm", format!("--url={}", charts.url("/charts")), "sha256:"),
        ("chart", "--source=HelmRepository/app --chart=app".to_owned(), "1.0.0"),
    ]
}

#[tokio::test]
async fn every_command_about_sources_works() {
    let Some(flux) = Flux::start().await else { return };
    let remotes = Remotes::start().await;
    for (kind, flags, revision) in commands(&remotes) {
        let create = format!("create source {kind} app {flags} --interval=1h");
        let exported = flux.run(&format!("{create} --export"), &["kind: ", "name: app"]).await;
        flux.run(&create, &["fetched revision", revision]).await;
        flux.run(&create, &["fetched revision", revision]).await;
        flux.run(&format!("get source {kind} app"), &["app", revision, "False", "True"]).await;
        flux.run(&format!("reconcile source {kind} app"), &["fetched", revision]).await;
        flux.run(&format!("suspend source {kind} app"), &["suspended"]).await;
        let (_, refused) = flux.try_run(&format!("reconcile source {kind} app")).await;
        assert!(refused.contains("resource is suspended"), "{refused}");
        let shown = flux.run(&format!("get source {kind}"), &[]).await;
        let cells: Vec<&str> = shown.split_whitespace().collect();
        assert!(cells.windows(2).any(|pair| pair == ["True", "True"]), "suspended and ready:\n{shown}");
        flux.run(&format!("resume source {kind} app"), &["fetched revision", revision]).await;
        let again = flux.run(&format!("export source {kind} app"), &[]).await;
        // Beside defaults and the annotation of the request.
        for line in exported.lines().filter(|line| line.starts_with(' ')) {
            assert!(again.lines().any(|other| other == line), "{kind}: no {line} in\n{again}");
        }
    }
    flux.run("get sources all", &["gitrepository/app", "ocirepository/app", "bucket/app", "helmchart/app"])
        .await;
    flux.run("get all", &["helmrepository/app"]).await;
    flux.run("stats", &["GitRepository", "HelmChart"]).await;
    flux.run("events --for=GitRepository/app", &["NewArtifact", "stored artifact for commit 'first'"]).await;
    traced(&flux).await;
    flux.run("migrate", &["custom resources migrated successfully"]).await;
    // The chart goes before its repository.
    for (kind, _, _) in commands(&remotes).into_iter().rev() {
        flux.run(&format!("reconcile source {kind} app"), &["fetched"]).await;
        flux.run(&format!("delete source {kind} app --silent"), &["deleted"]).await;
        // The command does not wait until the finalizer is gone.
        let gone = async || (!flux.try_run(&format!("get source {kind} app")).await.0).then_some(());
        eventually(&format!("{kind} to be gone"), DEADLINE, gone).await.unwrap();
    }
}

/// SRC-CLI-3.
#[tokio::test]
async fn a_pushed_artifact_is_a_source() {
    let Some(flux) = Flux::start().await else { return };
    let (registry, folder) = (Registry::start().await.unwrap(), Folder::new("pushed").unwrap());
    folder.write("a.yaml", "a: 1\n").unwrap();
    let (url, path) = (registry.url("pushed"), folder.path().display());
    let origin =
        "--source=https://example.com/repo --revision=main@sha1:1111111111111111111111111111111111111111";
    flux.run(&format!("push artifact {url}:v1 --path={path} {origin} --insecure-registry"), &["pushed to"])
        .await;
    flux.run(&format!("create source oci pushed --url={url} --tag=v1 --insecure"), &["v1@sha256:"]).await;
    let status = flux.world.ready("OCIRepository", "pushed").await;
    assert_eq!(paths(&status).await, ["a.yaml"]);
    let metadata = &status["artifact"]["metadata"];
    assert_eq!(metadata["org.opencontainers.image.source"], "https://example.com/repo");
}

/// An object that a Kustomization has applied is traced to its source.
async fn traced(flux: &Flux) {
    let world = &flux.world;
    world.plane.apply(&world.namespace, kustomization("app", "GitRepository", "app", "./")).await.unwrap();
    let (kustomize, map) = ("kustomize.toolkit.fluxcd.io", "ConfigMap");
    let labels = json!({
        format!("{kustomize}/name"): "app", format!("{kustomize}/namespace"): world.namespace,
    });
    let object = json!({"apiVersion": "v1", "kind": map, "metadata": {"name": "a", "labels": labels}});
    world.plane.apply(&world.namespace, object).await.unwrap();
    let kustomizations =
        world.plane.api(&format!("{kustomize}/v1"), "Kustomization", &world.namespace).await.unwrap();
    let entries = json!([{"id": format!("{}_a__ConfigMap", world.namespace), "v": "v1"}]);
    let status = Patch::Merge(json!({"status": {"inventory": {"entries": entries}}}));
    kustomizations.patch_status("app", &PatchParams::default(), &status).await.unwrap();
    flux.run("trace a --kind=configmap --api-version=v1", &["GitRepository:   app", "main@sha1:"]).await;
    flux.run("tree kustomization app", &["ConfigMap/", "/a"]).await;
}
