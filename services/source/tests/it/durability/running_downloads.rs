//! SRC-STO-17: a download of an artifact that is collected meanwhile completes.

use futures::StreamExt;
use serde_json::json;
use tonic::transport::Channel;
use weir_proto::source::v1::FetchRequest;
use weir_proto::source::v1::artifacts_client::ArtifactsClient;
use weir_testkit::{Registry, authorized, eventually};

use super::file;
use crate::origin::noise;
use crate::world::{DEADLINE, Setup, World};

/// Several times what sockets keep of an answer that nobody reads.
const BYTES: usize = 16 << 20;
const OCI: &str = "OCIRepository";

#[tokio::test]
async fn a_download_goes_on_when_its_artifact_is_collected() {
    let setup = Setup { arguments: vec!["--artifact-retention-records=1".into()], ..Setup::default() };
    let (world, registry) = (World::start_as(setup).await, Registry::start().await.unwrap());
    // Passed on as it is, so that nothing is compressed.
    let push =
        async |content: &str| registry.push_artifact_layer("app", "latest", content.into()).await.unwrap();
    let content = noise("old", BYTES);
    push(&content).await;
    let copied = json!({"layerSelector": {"operation": "copy"}});
    world.oci("app", &registry.url("app"), copied).await;
    let old = world.ready(OCI, "app").await;
    world.until_served().await;
    let (digest, file) = (old["artifact"]["digest"].as_str().unwrap(), file(&world, &old));

    let mut answer = reqwest::get(old["artifact"]["url"].as_str().unwrap()).await.unwrap();
    let mut over_http = answer.chunk().await.unwrap().unwrap().to_vec();
    let kinds = ("source.toolkit.fluxcd.io", &["ocirepositories"][..]);
    let token = world.plane.token_for(&world.namespace, "reader", kinds, &["get"]).await.unwrap();
    let url = format!("http://127.0.0.1:{}", world.grpc);
    let mut client = ArtifactsClient::new(Channel::from_shared(url).unwrap().connect_lazy());
    let asked = FetchRequest {
        kind: OCI.to_owned(),
        namespace: world.namespace.clone(),
        name: "app".to_owned(),
        digest: digest.to_owned(),
    };
    let mut stream = client.fetch(authorized(&token, asked)).await.unwrap().into_inner();
    let mut over_grpc = stream.next().await.unwrap().unwrap().chunk;

    let new = push("new").await;
    world.reconciled(OCI, "app").await;
    world.at(OCI, "app", &new).await;
    // The run after the one that stored the new artifact collects the old one.
    world.reconciled(OCI, "app").await;
    eventually("the old artifact to be collected", DEADLINE, async || (!file.exists()).then_some(()))
        .await
        .unwrap();
    let gone = reqwest::get(old["artifact"]["url"].as_str().unwrap()).await.unwrap();
    assert_eq!(gone.status(), 404);
    assert!(over_http.len() < BYTES && over_grpc.len() < BYTES);

    while let Some(chunk) = answer.chunk().await.unwrap() {
        over_http.extend_from_slice(&chunk);
    }
    while let Some(message) = stream.next().await {
        over_grpc.extend_from_slice(&message.unwrap().chunk);
    }
    for bytes in [over_http, over_grpc] {
        assert!(bytes == content.as_bytes(), "{} bytes came", bytes.len());
    }
}
