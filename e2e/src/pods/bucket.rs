//! D3: a bucket as a source, with Pods. moto serves it, as Amazon would.

use anyhow::Result;
use kube::api::DynamicObject;
use serde_json::json;
use weir_testkit::{BucketProgram, BucketServer, wait_for, wait_gone};

use super::fleet::Fleet;
use super::{DEADLINE, text};
use crate::NAMESPACE;

const NAME: &str = "settings";

const KUSTOMIZATION: &str = "create kustomization settings --target-namespace=prod --source=Bucket/settings \
                             --path=./deploy --prune=true --interval=5m --export";

/// Files in the cluster's repository.
const SOURCE_FILE: &str = "clusters/prod/settings-source.yaml";
const KUSTOMIZATION_FILE: &str = "clusters/prod/settings-kustomization.yaml";

/// Objects of a bucket are in the cluster, follow it, and go when the source leaves the repository.
pub(super) async fn is_applied(fleet: &Fleet<'_>) -> Result<()> {
    let Some(server) = BucketServer::start(BucketProgram::Moto).await? else { return Ok(()) };
    let (world, front) = (fleet.world, fleet.world.cluster.front_for(server.address()).await?);
    server.create(NAME).await?;
    put(&server, "hello").await?;
    let login = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": NAME},
        "stringData": {"accesskey": "AKID", "secretkey": "secret"}});
    world.plane().apply(NAMESPACE, login).await?;
    let source = format!(
        "create source bucket {NAME} --bucket-name={NAME} --endpoint={} --insecure --region=us-east-1 \
         --secret-ref={NAME} --interval=5m --export",
        front.address()
    );
    let files =
        [(SOURCE_FILE, fleet.weir(&source).await?), (KUSTOMIZATION_FILE, fleet.weir(KUSTOMIZATION).await?)];
    fleet.push("Add a bucket", &files.each_ref().map(|(path, text)| (*path, text.as_str()))).await?;
    let maps = world.api("ConfigMap", "prod").await?;
    let greets = |greeting: &'static str| {
        move |map: Option<&DynamicObject>| {
            map.is_some_and(|map| text(&map.data, "/data/greeting").is_ok_and(|it| it == greeting))
        }
    };
    wait_for(&maps, NAME, "the bucket's content", DEADLINE, greets("hello")).await?;
    put(&server, "good morning").await?;
    fleet.weir("reconcile source bucket settings").await?;
    wait_for(&maps, NAME, "the bucket's new content", DEADLINE, greets("good morning")).await?;
    fleet.printed("get sources bucket", &[NAME, "stored artifact", "sha256:"]).await?;
    fleet.remove("Remove the bucket", &[KUSTOMIZATION_FILE, SOURCE_FILE]).await?;
    wait_gone(&maps, NAME, DEADLINE).await?;
    Ok(())
}

async fn put(server: &BucketServer, greeting: &str) -> Result<()> {
    let map = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {NAME}}}\ndata: {{greeting: {greeting}}}\n"
    );
    server.put(NAME, "deploy/settings.yaml", map).await?;
    Ok(())
}
