//! Scenario D, typed as in its article with `weir` for `flux`.

use anyhow::Result;
use kube::api::DynamicObject;
use weir_testkit::{stand_in_image, wait_for};

use super::DEADLINE;
use super::fleet::Fleet;
use super::main_loop::is_rolled_out;

/// The application of scenario B, which is the same one.
const APP: &str = include_str!("../../tests/it/manifests/webapp/backend.yaml");

/// Replaced in it, so that it runs in another namespace and gets ready.
const REPLACED: [(&str, &str); 4] = [
    ("  namespace: webapp\n", ""),
    ("      serviceAccountName: webapp\n", ""),
    ("backend", "podinfo"),
    ("readyzz", "readyz"),
];

/// D2: podinfo by two commands whose manifests are committed.
pub(super) async fn is_deployed(fleet: &Fleet<'_>) -> Result<()> {
    let (world, places) = (fleet.world, fleet.world.places("podinfo")?);
    let made = stand_in_image("podinfo", "6.0.0", "podinfo")?;
    world.registry().push_made_image("podinfo", "6.0.0", &made).await?;
    let image = format!("{}/podinfo:6.0.0", places.registry);
    let app = REPLACED.iter().fold(APP.to_owned(), |app, (from, to)| app.replace(from, to));
    let app = app.replace("ghcr.io/stefanprodan/podinfo:5.0.3", &image);
    world.git.repo("podinfo")?.commit("master", "podinfo", &[("kustomize/deployment.yaml", &app)])?;

    let url = places.git;
    let source = format!("create source git podinfo --url={url} --branch=master --interval=30s --export");
    let kustomization = "create kustomization podinfo --target-namespace=default --source=podinfo \
                         --path=./kustomize --prune=true --interval=5m --export";
    let files = [
        ("clusters/prod/podinfo-source.yaml", fleet.weir(&source).await?),
        ("clusters/prod/podinfo-kustomization.yaml", fleet.weir(kustomization).await?),
    ];
    fleet.push("Add podinfo", &files.each_ref().map(|(path, text)| (*path, text.as_str()))).await?;
    let deployments = world.api("Deployment", "default").await?;
    let runs = |object: Option<&DynamicObject>| object.is_some_and(|it| is_rolled_out(it, &image));
    wait_for(&deployments, "podinfo", "its Pods", DEADLINE, runs).await?;
    fleet.printed("get sources git", &["podinfo", "stored artifact for revision 'master@sha1:"]).await
}
