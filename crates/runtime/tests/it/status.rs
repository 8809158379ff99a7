use k8s_openapi::api::rbac::v1::PolicyRule;
use tonic::metadata::MetadataValue;
use tonic::transport::Channel;
use tonic::{Code, Request};
use weir_proto::status::v1::status_client::StatusClient;
use weir_proto::status::v1::{ChangeType, GetRequest, ListRequest, WatchRequest};
use weir_runtime::args::EventsArgs;
use weir_testkit::wait_ready;

use crate::world::{DEADLINE, MarkReady, World, flags};

struct Served {
    world: World,
    channel: Channel,
    token: String,
}

async fn served(verbs: &[&str]) -> Served {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let args = flags(&[&format!("--grpc-addr=127.0.0.1:{port}")]);
    let world = World::start(args, EventsArgs::default(), MarkReady::default()).await;
    let rule = PolicyRule {
        api_groups: Some(vec!["notification.toolkit.fluxcd.io".into()]),
        resources: Some(vec!["receivers".into()]),
        verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        ..PolicyRule::default()
    };
    let rules = if verbs.is_empty() { Vec::new() } else { vec![rule] };
    world.plane.service_account(&world.namespace, "viewer", &rules).await.unwrap();
    let token = world.plane.service_account_token(&world.namespace, "viewer").await.unwrap();
    world.receiver("a", "").await;
    wait_ready(&world.receivers().await, "a", DEADLINE).await.unwrap();
    let channel = Channel::from_shared(format!("http://127.0.0.1:{port}")).unwrap().connect_lazy();
    Served { world, channel, token }
}

impl Served {
    fn client(&self) -> StatusClient<Channel> {
        StatusClient::new(self.channel.clone())
    }

    fn with_token<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        let value: MetadataValue<_> = format!("Bearer {}", self.token).parse().unwrap();
        request.metadata_mut().insert("authorization", value);
        request
    }

    fn list(&self) -> ListRequest {
        ListRequest { kind: "Receiver".into(), namespace: self.world.namespace.clone() }
    }

    fn watch(&self, resource_version: &str) -> WatchRequest {
        WatchRequest {
            kind: "Receiver".into(),
            namespace: self.world.namespace.clone(),
            name: String::new(),
            resource_version: resource_version.into(),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_account_with_rbac_gets_and_lists() {
    let served = served(&["get", "list"]).await;
    let listed = served.client().list(served.with_token(served.list())).await.unwrap().into_inner();
    assert_eq!(listed.objects.len(), 1);
    let get =
        GetRequest { kind: "Receiver".into(), namespace: served.world.namespace.clone(), name: "a".into() };
    let object = served.client().get(served.with_token(get)).await.unwrap().into_inner().object.unwrap();
    assert_eq!(object.conditions[0].r#type, "Ready");
    assert_eq!(object.conditions[0].message, "all good");
    served.world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_token_or_without_rbac_nothing_is_shown() {
    let served = served(&[]).await;
    let anonymous = served.client().list(Request::new(served.list())).await.unwrap_err();
    assert_eq!(anonymous.code(), Code::Unauthenticated);
    let powerless = served.client().list(served.with_token(served.list())).await.unwrap_err();
    assert_eq!(powerless.code(), Code::PermissionDenied);
    assert!(powerless.message().contains("viewer"), "{}", powerless.message());
    let watch = served.client().watch(served.with_token(served.watch(""))).await.unwrap_err();
    assert_eq!(watch.code(), Code::PermissionDenied);
    served.world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_shows_what_is_there_then_changes_and_resumes() {
    let served = served(&["watch"]).await;
    let mut stream = served.client().watch(served.with_token(served.watch(""))).await.unwrap().into_inner();
    let first = stream.message().await.unwrap().unwrap();
    assert_eq!((first.r#type(), first.object.unwrap().name), (ChangeType::Applied, "a".to_owned()));
    assert_eq!(stream.message().await.unwrap().unwrap().r#type(), ChangeType::Synced);
    served.world.receiver("b", "").await;
    let change = stream.message().await.unwrap().unwrap();
    assert_eq!(change.object.as_ref().unwrap().name, "b");
    let seen = change.object.unwrap().resource_version;
    let resumed = served.client().watch(served.with_token(served.watch(&seen))).await.unwrap();
    let mut resumed = resumed.into_inner();
    loop {
        let next = resumed.message().await.unwrap().unwrap();
        if next.r#type() == ChangeType::Synced {
            break;
        }
        assert_eq!(next.object.unwrap().name, "b", "what was seen is not sent again");
    }
    drop((stream, resumed));
    served.world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_kind_is_answered_with_those_that_are_served() {
    let served = served(&["list"]).await;
    let list = ListRequest { kind: "Receivers".into(), namespace: String::new() };
    let error = served.client().list(served.with_token(list)).await.unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    assert!(error.message().ends_with("served are: Receiver"), "{}", error.message());
    served.world.stop().await;
}
