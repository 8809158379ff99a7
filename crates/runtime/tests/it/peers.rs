//! The tokens that travel between services, and those that open a service.

use std::sync::Arc;

use kube::Config;
use parking_lot::Mutex;
use rstest::rstest;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::{Channel, Server};
use tonic::{Code, Request, Response, Status};
use weir_proto::notification::v1::events_server::{Events, EventsServer};
use weir_proto::notification::v1::{
    PublishRequest, PublishResponse, WatchDeliveriesRequest, WatchDeliveriesResponse, WatchEventsRequest,
    WatchEventsResponse,
};
use weir_proto::status::v1::ListRequest;
use weir_proto::status::v1::status_client::StatusClient;
use weir_runtime::args::EventsArgs;
use weir_runtime::grpc::AUDIENCE;
use weir_testkit::{ControlPlane, authorized, eventually, wait_ready};

use crate::world::{DEADLINE, MarkReady, World, flags};

/// Takes events and keeps what the callers showed.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

type Nothing<T> = tokio_stream::Empty<Result<T, Status>>;

#[tonic::async_trait]
impl Events for Recorder {
    type WatchEventsStream = Nothing<WatchEventsResponse>;
    type WatchDeliveriesStream = Nothing<WatchDeliveriesResponse>;

    async fn publish(&self, request: Request<PublishRequest>) -> Result<Response<PublishResponse>, Status> {
        let headers = request.metadata().clone().into_headers();
        self.0
            .lock()
            .extend(headers.values().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()));
        Ok(Response::new(PublishResponse::default()))
    }

    async fn watch_events(
        &self,
        _: Request<WatchEventsRequest>,
    ) -> Result<Response<Self::WatchEventsStream>, Status> {
        Ok(Response::new(tokio_stream::empty()))
    }

    async fn watch_deliveries(
        &self,
        _: Request<WatchDeliveriesRequest>,
    ) -> Result<Response<Self::WatchDeliveriesStream>, Status> {
        Ok(Response::new(tokio_stream::empty()))
    }
}

/// Makes an account that may do everything, as that of kustomize.
async fn mighty_account(plane: &ControlPlane, namespace: &str) {
    plane.service_account(namespace, "service", &[]).await.unwrap();
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "service", "namespace": namespace}]});
    plane.apply("", binding).await.unwrap();
}

/// Runs a service as a Pod does, with both of its tokens in files, until it has published; returns what it has shown.
async fn shown_by_a_service(peer_audiences: &[&str]) -> (Vec<String>, String, String) {
    let (recorder, mut tasks) = (Recorder::default(), JoinSet::new());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = Server::builder().add_service(EventsServer::new(recorder.clone()));
    tasks.spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));

    let plane = ControlPlane::shared().await.unwrap();
    let namespace = World::namespace().await;
    mighty_account(plane, &namespace).await;
    let for_api = plane.token_file(&namespace, "service", &[]).await.unwrap();
    let for_peers = plane.token_file(&namespace, "service", peer_audiences).await.unwrap();
    let mut config: Config = plane.config().unwrap();
    config.auth_info = kube::config::AuthInfo {
        token_file: Some(for_api.display().to_string()),
        ..kube::config::AuthInfo::default()
    };
    let events = EventsArgs { events_grpc_addr: address.to_string(), ..EventsArgs::default() };
    let args = flags(&[&format!("--peer-token-file={}", for_peers.display())]);
    let world = World::start_in(namespace, config, args, events, MarkReady::default()).await;
    world.receiver("a", "").await;
    wait_ready(&world.receivers().await, "a", DEADLINE).await.unwrap();
    // Delivers what is queued, or gives it up.
    world.stop().await;
    let shown = recorder.0.lock().clone();
    let read = |path| std::fs::read_to_string(path).unwrap();
    (shown, read(for_api), read(for_peers))
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_token_for_services_is_on_the_wire() {
    let (shown, for_api, for_peers) = shown_by_a_service(&[AUDIENCE]).await;
    assert!(shown.contains(&format!("Bearer {for_peers}")), "{shown:?}");
    assert!(!shown.iter().any(|text| text.contains(&for_api)), "the token for the API server has travelled");
}

/// Also not when somebody mounts the wrong one.
#[rstest]
#[case::for_the_api_server(&[])]
#[case::for_both(&["weir", "https://kubernetes.default.svc.cluster.local"])]
#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_opens_more_than_services_is_not_sent(#[case] audiences: &[&str]) {
    let (shown, ..) = shown_by_a_service(audiences).await;
    assert_eq!(shown, Vec::<String>::new());
}

#[rstest]
#[case::for_services(&["weir"], None)]
#[case::of_people(&[], None)]
#[case::for_services_and_others(&["vault", "weir"], None)]
#[case::for_others(&["vault"], Some(Code::Unauthenticated))]
#[tokio::test(flavor = "multi_thread")]
async fn tokens_open_a_service_by_their_audience(#[case] audiences: &[&str], #[case] refused: Option<Code>) {
    let port = weir_testkit::free_port().unwrap();
    let args = flags(&[&format!("--grpc-addr=127.0.0.1:{port}")]);
    let world = World::start(args, EventsArgs::default(), MarkReady::default()).await;
    let resources = ("notification.toolkit.fluxcd.io", &["receivers"][..]);
    world.plane.token_for(&world.namespace, "viewer", resources, &["list"]).await.unwrap();
    let token = world.plane.token_of_audiences(&world.namespace, "viewer", audiences).await.unwrap();
    let channel = Channel::from_shared(format!("http://127.0.0.1:{port}")).unwrap().connect_lazy();
    let list =
        ListRequest { kind: "Receiver".into(), namespace: world.namespace.clone(), ..ListRequest::default() };
    let answer = eventually("an answer", DEADLINE, async || {
        let answer = StatusClient::new(channel.clone()).list(authorized(&token, list.clone())).await;
        let code = answer.err().map(|status| status.code());
        (code != Some(Code::Unavailable)).then_some(code)
    });
    assert_eq!(answer.await.unwrap(), refused);
    world.stop().await;
}
