//! Tags and resolutions over gRPC, with a ServiceAccount's token.

use futures::StreamExt;
use serde_json::json;
use tonic::transport::Channel;
use tonic::{Code, Request};
use weir_proto::image::v1::reflector_client::ReflectorClient;
use weir_proto::image::v1::{ListTagsRequest, ResolvePolicyRequest, WatchResolutionsRequest};
use weir_testkit::{Registry, authorized, touch_requested_at};

use crate::world::World;

async fn token(world: &World, account: &str, verbs: &[&str]) -> String {
    let resources = ("image.toolkit.fluxcd.io", &["imagerepositories", "imagepolicies"][..]);
    world.plane.token_for(&world.namespace, account, resources, verbs).await.unwrap()
}

fn client(world: &World) -> ReflectorClient<Channel> {
    let url = format!("http://127.0.0.1:{}", world.grpc);
    ReflectorClient::new(Channel::from_shared(url).unwrap().connect_lazy())
}

#[tokio::test]
async fn tags_and_resolutions_are_told_and_streamed_to_those_who_may() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let image = format!("{}/rpc/app", registry.address());
    registry.push_image("rpc/app", "1.0.0").await.unwrap();
    world.repository("app", &image, json!({})).await;
    world.policy("app", "app", json!({"semver": {"range": "1.x"}})).await;
    world.until("ImagePolicy", "app", "resolved to 1.0.0").await;
    world.until_open().await;
    let (token, mut client) = (token(&world, "reader", &["get", "watch"]).await, client(&world));
    let (namespace, name) = (world.namespace.clone(), "app".to_owned());

    let request = ListTagsRequest { namespace: namespace.clone(), name: name.clone() };
    let tags = client.list_tags(authorized(&token, request)).await.unwrap().into_inner();
    assert_eq!((tags.image.as_str(), tags.tags), (image.as_str(), vec!["1.0.0".to_owned()]));
    let request = ResolvePolicyRequest { namespace: namespace.clone(), name };
    let resolved = client.resolve_policy(authorized(&token, request)).await.unwrap().into_inner();
    assert_eq!(resolved.resolution.unwrap().tag, "1.0.0");

    let request = WatchResolutionsRequest { namespace };
    let mut stream = client.watch_resolutions(authorized(&token, request)).await.unwrap().into_inner();
    assert_eq!(stream.next().await.unwrap().unwrap().resolution.unwrap().tag, "1.0.0");
    registry.push_image("rpc/app", "1.1.0").await.unwrap();
    touch_requested_at(&world.api("ImageRepository").await, "app").await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap().resolution.unwrap().tag, "1.1.0");
}

#[tokio::test]
async fn callers_without_the_right_are_refused() {
    let world = World::start().await;
    world.until_open().await;
    let (token, mut client) = (token(&world, "stranger", &["list"]).await, client(&world));
    let (namespace, name) = (world.namespace.clone(), "app".to_owned());
    let request = ListTagsRequest { namespace: namespace.clone(), name: name.clone() };
    let status = client.list_tags(Request::new(request.clone())).await.unwrap_err();
    assert_eq!(status.code(), Code::Unauthenticated);
    let status = client.list_tags(authorized(&token, request)).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied);
    let request = WatchResolutionsRequest { namespace: String::new() };
    let status = client.watch_resolutions(authorized(&token, request)).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied);
}
