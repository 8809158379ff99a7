//! Publishing and watching over gRPC, with a ServiceAccount's token.

use futures::StreamExt;
use serde_json::json;
use tonic::Code;
use tonic::transport::Channel;
use weir_proto::notification::v1::events_client::EventsClient;
use weir_proto::notification::v1::{
    Event, ObjectRef, PublishRequest, Severity, WatchDeliveriesRequest, WatchEventsRequest,
};
use weir_testkit::{authorized, eventually};

use crate::world::{DEADLINE, Setup, World};

fn event(namespace: &str, message: &str) -> Event {
    Event {
        involved_object: Some(ObjectRef {
            api_version: "kustomize.toolkit.fluxcd.io/v1".into(),
            kind: "Kustomization".into(),
            namespace: namespace.into(),
            name: "web".into(),
            ..Default::default()
        }),
        severity: Severity::Info.into(),
        message: message.into(),
        reason: "ReconciliationSucceeded".into(),
        reporting_controller: "kustomize-controller".into(),
        ..Default::default()
    }
}

async fn token(world: &World, account: &str, verbs: &[&str]) -> String {
    let resources = ("", &["events"][..]);
    world.plane.token_for(&world.namespace, account, resources, verbs).await.unwrap()
}

async fn client(world: &World) -> EventsClient<Channel> {
    let endpoint = Channel::from_shared(world.grpc_url()).unwrap();
    // It listens last of all.
    let connected = eventually("the gRPC server", DEADLINE, async || endpoint.connect().await.ok()).await;
    EventsClient::new(connected.unwrap())
}

#[tokio::test]
async fn publishing_runs_through_the_same_pipeline_and_watchers_see_it() {
    let setup = Setup::new().await;
    setup.provider("p", "generic", json!({})).await;
    let world = setup.start().await;
    let token = token(&world, "publisher", &["create", "watch"]).await;
    let mut client = client(&world).await;
    let namespace = world.namespace.clone();

    let watch = WatchEventsRequest { namespace: namespace.clone() };
    let mut events = client.watch_events(authorized(&token, watch)).await.unwrap().into_inner();
    let watch = WatchDeliveriesRequest { namespace: namespace.clone() };
    let mut deliveries = client.watch_deliveries(authorized(&token, watch)).await.unwrap().into_inner();

    let mut publish = async || {
        let request = PublishRequest { event: Some(event(&namespace, "hello")) };
        client.publish(authorized(&token, request)).await.unwrap().into_inner().duplicate
    };
    assert_eq!((publish().await, publish().await), (false, true));

    let request = world.sink.wait_for_requests(1, DEADLINE).await.unwrap().remove(0);
    assert_eq!(request.json()["message"], "hello");
    let seen = events.next().await.unwrap().unwrap().event.unwrap();
    assert_eq!(seen.message, "hello");
    let delivered = deliveries.next().await.unwrap().unwrap();
    assert_eq!(
        (delivered.alert.as_str(), delivered.provider.as_str(), delivered.error.as_str()),
        ("p", "p", "")
    );
    assert_eq!(world.post(&world.event("hello", "info")).await, 202, "the revision tells them apart");
}

#[tokio::test]
async fn security_callers_without_the_right_are_refused() {
    let world = Setup::new().await.start().await;
    let mut client = client(&world).await;
    let request = || PublishRequest { event: Some(event(&world.namespace, "hello")) };
    let nobody = client.publish(request()).await.unwrap_err();
    assert_eq!(nobody.code(), Code::Unauthenticated);
    let token = token(&world, "reader", &["get"]).await;
    let reader = client.publish(authorized(&token, request())).await.unwrap_err();
    assert_eq!(reader.code(), Code::PermissionDenied);
    let everywhere = WatchEventsRequest { namespace: String::new() };
    let watcher = client.watch_events(authorized(&token, everywhere)).await.unwrap_err();
    assert_eq!(watcher.code(), Code::PermissionDenied);
}
