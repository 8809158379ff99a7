//! Previews and runs over gRPC, with a ServiceAccount's token.

use serde_json::json;
use tonic::Code;
use tonic::transport::Channel;
use weir_proto::image::v1::automation_client::AutomationClient;
use weir_proto::image::v1::{PreviewCommitRequest, RunNowRequest};
use weir_testkit::authorized;

use crate::world::World;

#[tokio::test]
async fn the_next_commit_is_shown_to_those_who_may_see_it() {
    let world = World::start().await;
    let repo = world.app().await;
    world.automation("app", json!({"commit": {"messageTemplate": "bump {{ len .Changed.Changes }}"}})).await;
    world.until_seen("app", "web", "1.0.0").await;
    repo.commit("main", "back", &[("web.yaml", &world.manifest("old:1", "web"))]).unwrap();
    world.until_open().await;
    let resources = ("image.toolkit.fluxcd.io", &["imageupdateautomations"][..]);
    let token = world.plane.token_for(&world.namespace, "reader", resources, &["get"]).await.unwrap();
    let url = format!("http://127.0.0.1:{}", world.grpc);
    let mut client = AutomationClient::new(Channel::from_shared(url).unwrap().connect_lazy());
    let (namespace, name) = (world.namespace.clone(), "app".to_owned());

    let request = PreviewCommitRequest { namespace: namespace.clone(), name: name.clone() };
    let preview = client.preview_commit(authorized(&token, request)).await.unwrap().into_inner();
    assert_eq!((preview.message.as_str(), preview.files), ("bump 1", vec!["web.yaml".to_owned()]));
    assert_eq!(repo.log("main").unwrap()[0].message.trim_end(), "back", "nothing is pushed");
    let status = client.run_now(authorized(&token, RunNowRequest { namespace, name })).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied);
}
