//! Commands that change objects: `weir` works in one namespace and Flux's own command line, which `FLUX_CLI` names, in another
//! that is the same. Both print the same and end with the same exit codes.

use serde_json::json;

use crate::world::World;

const KINDS: [&str; 12] = [
    "GitRepository",
    "OCIRepository",
    "Bucket",
    "HelmRepository",
    "HelmChart",
    "ArtifactGenerator",
    "Kustomization",
    "ImageRepository",
    "ImagePolicy",
    "ImageUpdateAutomation",
    "Receiver",
    "Alert",
];

async fn twin(namespace: &str) -> World {
    let world = World::new(namespace).await;
    for kind in KINDS {
        world.object(kind, "podinfo").await;
    }
    let source = json!({ "kind": "GitRepository", "name": "podinfo" });
    let spec = json!({ "interval": "1m", "prune": true, "suspend": true, "sourceRef": source });
    world.object_with("Kustomization", "paused", spec).await;
    world
}

/// Runs each command with both, and fails with a list of those that differ.
async fn agree(name: &str, commands: &[&str]) {
    let theirs = twin(&format!("{name}-flux")).await;
    let Some(flux) = theirs.weir().as_flux() else { return };
    let ours = twin(&format!("{name}-weir")).await;
    let mut differences = vec![];
    for command in commands {
        let our = shown(ours.weir().start(command).end().await, &ours);
        let their = shown(flux.start(command).end().await, &theirs);
        if our != their {
            differences.push(format!("{our}--- Flux:\n{their}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

/// The namespaces have names of their own, and behind a deadline `weir` says what it waited for.
fn shown(transcript: String, world: &World) -> String {
    let transcript = transcript.replace(&world.namespace, "NAMESPACE");
    let kept = |line: &str| match line.find("context deadline exceeded: ") {
        Some(at) => format!("{}context deadline exceeded\n", &line[..at]),
        None => format!("{line}\n"),
    };
    transcript.lines().map(kept).collect()
}

#[tokio::test]
async fn flux_suspends_and_resumes_the_same() {
    let commands = [
        "suspend kustomization",
        "suspend kustomization podinfo missing",
        "suspend kustomization missing",
        "suspend ks --all",
        "get kustomizations",
        "suspend source git podinfo",
        "suspend source oci --all",
        "suspend source bucket podinfo",
        "suspend source helm podinfo",
        "suspend source chart podinfo",
        "suspend image repository podinfo",
        "suspend image policy podinfo",
        "suspend image update podinfo",
        "suspend receiver podinfo",
        "suspend alert podinfo",
        "suspend alert-provider podinfo",
        "get sources all",
        "get images all",
        "get alerts",
        "resume kustomization",
        "resume kustomization missing",
        "resume kustomization podinfo --wait=false",
        "resume source git podinfo --timeout 1s",
        "resume kustomization missing paused",
        "resume alert podinfo",
        "resume receiver podinfo --timeout 1s",
        "resume image update --all --timeout 1s",
        "resume image policy",
        "delete image policy podinfo -s",
        "suspend image policy --all",
        "resume image policy --all",
        "get kustomizations",
    ];
    agree("twins-suspend", &commands).await;
}

#[tokio::test]
async fn flux_deletes_the_same() {
    let commands = [
        "delete kustomization",
        "delete kustomization missing -s",
        "delete kustomization podinfo -s",
        "delete kustomization podinfo --silent",
        "delete source git podinfo -s",
        "delete source oci podinfo -s",
        "delete source bucket podinfo -s",
        "delete source helm podinfo -s",
        "delete source chart podinfo -s",
        "delete image repository podinfo -s",
        "delete image policy podinfo -s",
        "delete image update podinfo -s",
        "delete receiver podinfo -s",
        "delete alert podinfo -s",
        "delete alert-provider podinfo -s",
        "get all",
    ];
    agree("twins-delete", &commands).await;
}

#[tokio::test]
async fn flux_refuses_to_reconcile_the_same() {
    let commands = [
        "reconcile kustomization",
        "reconcile kustomization missing",
        "reconcile kustomization paused",
        "reconcile kustomization paused --with-source",
        "reconcile source git",
        "reconcile source git missing",
        "reconcile source git podinfo --timeout 1s",
        "reconcile source chart podinfo --timeout 1s",
        "reconcile image repository missing",
        "reconcile image update podinfo --timeout 1s",
        "reconcile receiver podinfo --timeout 1s",
        "get kustomizations missing",
        "get source git missing",
    ];
    agree("twins-reconcile", &commands).await;
}
