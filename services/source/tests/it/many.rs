//! Ten thousand objects: they are all known soon after a start, in bounded memory, and those that are alive do not wait
//! for the others.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{DynamicObject, PostParams};
use serde_json::json;
use weir_proto::status::v1::ListRequest;
use weir_proto::status::v1::status_client::StatusClient;
use weir_testkit::{Registry, authorized, eventually};

use crate::world::{SOURCE, World, paths};

const OBJECTS: usize = 10_000;
/// Requests at a time: few enough to leave the API server to other tests, too.
const IN_FLIGHT: usize = 32;
/// Many times what a start takes on an idle machine.
const DEADLINE: Duration = Duration::from_secs(60);
/// Bytes that the process may ever hold; a debug build took 92 MiB.
const MAX_RESIDENT: u64 = 160 << 20;
const OCI: &str = "OCIRepository";

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_sources_and_a_live_one() {
    let (mut world, registry) = (World::start().await, Registry::start().await.unwrap());
    world.controller.kill();
    registry.push_artifact("app", "latest", &[("a.yaml", "a")]).await.unwrap();
    let api = world.api(OCI).await;
    let spec = json!({"url": registry.url("app"), "interval": "1h", "insecure": true, "suspend": true});
    let create = async |number: usize| {
        let object = json!({"apiVersion": SOURCE, "kind": OCI, "spec": spec,
            "metadata": {"name": format!("unit-{number}"), "namespace": world.namespace,
                // As on any object that was ever looked at.
                "finalizers": ["finalizers.fluxcd.io"]}});
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        api.create(&PostParams::default(), &object).await.map(drop)
    };
    stream::iter(0..OBJECTS).map(create).buffer_unordered(IN_FLIGHT).try_collect::<()>().await.unwrap();
    world.oci("live", &registry.url("app"), json!({})).await;

    let resources = ("source.toolkit.fluxcd.io", &["ocirepositories"][..]);
    let token = world.plane.token_for(&world.namespace, "viewer", resources, &["list"]).await.unwrap();
    for start in ["first", "again"] {
        world.start_again(&[]);
        let status = match start {
            "first" => world.ready(OCI, "live").await,
            _ => world.reconciled(OCI, "live").await,
        };
        world.until_served().await;
        assert_eq!(paths(&status).await, ["a.yaml"], "{start}");
        let known = async || (listed(&world, &token).await == OBJECTS + 1).then_some(());
        eventually("all objects to be known", DEADLINE, known).await.unwrap();
        let peak = peak(&world);
        assert!(peak < MAX_RESIDENT, "{start}: {} KiB", peak >> 10);
    }
}

/// Returns the number of objects that the service knows.
async fn listed(world: &World, token: &str) -> usize {
    let url = format!("http://127.0.0.1:{}", world.grpc);
    let channel = tonic::transport::Channel::from_shared(url).unwrap().connect_lazy();
    let mut client = StatusClient::new(channel);
    let (mut count, mut page_token) = (0, String::new());
    loop {
        let (kind, namespace) = (OCI.to_owned(), world.namespace.clone());
        let asked = ListRequest { kind, namespace, page_size: 1000, page_token };
        let Ok(answer) = client.list(authorized(token, asked)).await else { return 0 };
        let page = answer.into_inner();
        count += page.objects.len();
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return count;
        }
    }
}

/// The most memory that the process ever held.
fn peak(world: &World) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", world.controller.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}
