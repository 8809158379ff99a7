use std::time::Duration;

use k8s_openapi::api::rbac::v1::PolicyRule;
use tonic::metadata::MetadataValue;
use tonic::transport::Channel;
use tonic::{Code, Request, Response, Streaming};
use weir_proto::status::v1::status_client::StatusClient;
use weir_proto::status::v1::{
    ChangeType, GetRequest, ListRequest, ListResponse, WatchRequest, WatchResponse,
};
use weir_runtime::args::EventsArgs;
use weir_runtime::grpc::{Authorizer, GrpcServer, StatusRegistry};
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
        ListRequest {
            kind: "Receiver".into(),
            namespace: self.world.namespace.clone(),
            ..ListRequest::default()
        }
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

/// Name, kind of change and version to resume from.
type Told = (String, ChangeType, String);

async fn told(stream: &mut Streaming<WatchResponse>) -> Told {
    let next = tokio::time::timeout(DEADLINE, stream.message()).await.unwrap().unwrap().unwrap();
    let type_ = next.r#type();
    (next.object.map(|object| object.name).unwrap_or_default(), type_, next.resource_version)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_shows_what_is_there_then_changes_and_resumes() {
    let served = served(&["watch"]).await;
    let watch = async |version: &str| {
        served.client().watch(served.with_token(served.watch(version))).await.map(Response::into_inner)
    };
    let mut stream = watch("").await.unwrap();
    let first = told(&mut stream).await;
    assert_eq!(first, ("a".to_owned(), ChangeType::Applied, String::new()), "half a list is no beginning");
    let (_, synced, version) = told(&mut stream).await;
    assert_eq!(synced, ChangeType::Synced);
    drop(stream);
    served.world.receiver("b", "").await;
    let receivers = served.world.receivers().await;
    wait_ready(&receivers, "b", DEADLINE).await.unwrap();
    receivers.delete("a", &Default::default()).await.unwrap();
    weir_testkit::wait_gone(&receivers, "a", DEADLINE).await.unwrap();

    // Objects seen before are not sent again; changed and deleted ones are.
    let mut resumed = watch(&version).await.unwrap();
    let mut names = std::collections::BTreeMap::new();
    while names.get("a") != Some(&ChangeType::Deleted) {
        let (name, type_, _) = told(&mut resumed).await;
        names.insert(name, type_);
    }
    assert_eq!(names["b"], ChangeType::Applied);
    // Versions of Kubernetes, of other processes and of the future are no versions of this stream.
    let (epoch, _) = version.split_once('-').unwrap();
    for other in ["12345", "0123456789abcdef-1", &format!("{epoch}-99999999"), "nonsense"] {
        assert_eq!(watch(other).await.unwrap_err().code(), Code::OutOfRange, "{other}");
    }
    drop(resumed);
    served.world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_comes_in_pages_and_a_watch_goes_on_from_its_first() {
    let served = served(&["list", "watch"]).await;
    let receivers = served.world.receivers().await;
    for name in ["b", "c", "d", "e"] {
        served.world.receiver(name, "").await;
        wait_ready(&receivers, name, DEADLINE).await.unwrap();
    }
    let page = async |page_token: String| {
        let list = ListRequest { page_size: 2, page_token, ..served.list() };
        served.client().list(served.with_token(list)).await.map(Response::into_inner)
    };
    let first = page(String::new()).await.unwrap();
    receivers.delete("a", &Default::default()).await.unwrap();
    weir_testkit::wait_gone(&receivers, "a", DEADLINE).await.unwrap();
    let second = page(first.next_page_token.clone()).await.unwrap();
    let third = page(second.next_page_token.clone()).await.unwrap();
    let names =
        |page: &ListResponse| page.objects.iter().map(|object| object.name.clone()).collect::<Vec<_>>();
    assert_eq!([names(&first), names(&second), names(&third)].concat(), ["a", "b", "c", "d", "e"]);
    assert_eq!(third.next_page_token, "");
    assert_eq!(third.resource_version, first.resource_version);
    let watch = served.watch(&third.resource_version);
    let mut stream = served.client().watch(served.with_token(watch)).await.unwrap().into_inner();
    loop {
        let (name, type_, _) = told(&mut stream).await;
        if type_ == ChangeType::Deleted {
            assert_eq!(name, "a", "it went after its page was read");
            break;
        }
    }
    for token in ["x", "0123456789abcdef-1/a/b"] {
        assert_eq!(page(token.to_owned()).await.unwrap_err().code(), Code::OutOfRange, "{token}");
    }
    drop(stream);
    served.world.stop().await;
}

/// Ten messages of half a megabyte do not fit what clients take by default: pages end before.
#[tokio::test(flavor = "multi_thread")]
async fn pages_are_bounded_in_bytes() {
    let served = served(&["list"]).await;
    let receivers = served.world.receivers().await;
    let message = "x".repeat(31 * 1024);
    let condition = |number: usize| {
        serde_json::json!({ "type": format!("Test{number}"), "status": "True", "reason": "Test", "message": message,
            "lastTransitionTime": "2026-01-02T03:04:05Z", "observedGeneration": 1 })
    };
    let conditions: Vec<_> = (0..20).map(condition).collect();
    for number in 0..10 {
        let name = format!("large-{number}");
        served.world.receiver(&name, "suspend: true").await;
        let patch = kube::api::Patch::Merge(serde_json::json!({ "status": { "conditions": conditions } }));
        receivers.patch_status(&name, &Default::default(), &patch).await.unwrap();
    }
    let list = async |page_size, page_token| {
        let list = ListRequest { page_size, page_token, ..served.list() };
        served.client().list(served.with_token(list)).await.map(Response::into_inner)
    };
    let names = weir_testkit::eventually("all objects to be large", DEADLINE, async || {
        let (mut names, mut bytes, mut token) = (Vec::new(), 0, String::new());
        loop {
            let page = list(1000, token).await.unwrap();
            assert!(weir_proto::Message::encoded_len(&page) < 4 * 1024 * 1024);
            bytes += weir_proto::Message::encoded_len(&page);
            names.extend(page.objects.into_iter().map(|object| object.name));
            token = page.next_page_token;
            if token.is_empty() {
                break (bytes > 10 * 20 * 31 * 1024).then_some(names);
            }
        }
    });
    let names = names.await.unwrap();
    assert_eq!(names.len(), 11, "{names:?}");
    let whole = list(0, String::new()).await.unwrap_err();
    assert_eq!(whole.code(), Code::ResourceExhausted);
    assert!(whole.message().contains("page_size"), "{}", whole.message());
    served.world.stop().await;
}

/// Rights are looked at again and again while a watch runs.
#[tokio::test(flavor = "multi_thread")]
async fn a_watch_ends_when_its_rights_do() {
    let often = Duration::from_millis(200);
    let served = served(&["watch"]).await;
    let World { plane, namespace, env, .. } = &served.world;
    let registry = StatusRegistry::default().with_rights_checked(often);
    let scope = weir_runtime::cache::Scope { namespace: Some(namespace.clone()), labels: String::new() };
    let receivers = env.caches.get::<weir_api::Receiver>(&env.client, scope, &env.shutdown).await.unwrap();
    registry.add(receivers);
    let authorizer = Authorizer::remembering(env.client.clone(), env.peers.clone(), often);
    let mut server = GrpcServer::default();
    server.add(registry.into_service(authorizer, env.shutdown.clone()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    #[expect(clippy::disallowed_methods, reason = "ends with the shutdown of the world")]
    let serving = tokio::spawn(server.serve(listener, None, env.shutdown.clone()));
    let channel = Channel::from_shared(format!("http://{address}")).unwrap().connect_lazy();
    let mut client = StatusClient::new(channel);
    let mut stream = client.watch(served.with_token(served.watch(""))).await.unwrap().into_inner();
    while told(&mut stream).await.1 != ChangeType::Synced {}
    // It stands through several looks.
    for name in ["b", "c"] {
        served.world.receiver(name, "").await;
        while told(&mut stream).await.0 != name {}
    }
    plane.service_account(namespace, "viewer", &[]).await.unwrap();
    let ended = async {
        loop {
            if let Err(status) = stream.message().await {
                break status;
            }
        }
    };
    let status = tokio::time::timeout(DEADLINE, ended).await.unwrap();
    assert_eq!(status.code(), Code::PermissionDenied);
    assert!(status.message().contains("may not watch receivers."), "{}", status.message());
    served.world.stop().await;
    serving.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_kind_is_answered_with_those_that_are_served() {
    let served = served(&["list"]).await;
    let list = ListRequest { kind: "Receivers".into(), ..ListRequest::default() };
    let error = served.client().list(served.with_token(list)).await.unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    assert!(error.message().ends_with("served are: Receiver"), "{}", error.message());
    served.world.stop().await;
}
