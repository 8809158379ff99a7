//! Artifacts over gRPC, with a ServiceAccount's token.

use futures::{StreamExt, TryStreamExt};
use serde_json::json;
use tonic::transport::Channel;
use tonic::{Code, Request};
use tonic_health::ServingStatus;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use weir_artifact::{Algorithm, Digest};
use weir_proto::source::v1::artifacts_client::ArtifactsClient;
use weir_proto::source::v1::{FetchRequest, ReconcileRequest, WatchRequest, WatchResponse};
use weir_testkit::{GitServer, Registry, authorized};

use crate::world::{Setup, World, paths};

async fn token(world: &World, account: &str, verbs: &[&str]) -> String {
    let resources =
        ("source.toolkit.fluxcd.io", &["gitrepositories", "ocirepositories", "externalartifacts"][..]);
    world.plane.token_for(&world.namespace, account, resources, verbs).await.unwrap()
}

fn client(world: &World) -> ArtifactsClient<Channel> {
    let url = format!("http://127.0.0.1:{}", world.grpc);
    ArtifactsClient::new(Channel::from_shared(url).unwrap().connect_lazy())
}

fn named(world: &World, digest: &str) -> FetchRequest {
    let (kind, name) = ("OCIRepository".to_owned(), "app".to_owned());
    FetchRequest { kind, namespace: world.namespace.clone(), name, digest: digest.to_owned() }
}

fn reconcile(world: &World, name: &str) -> ReconcileRequest {
    ReconcileRequest { kind: "OCIRepository".into(), namespace: world.namespace.clone(), name: name.into() }
}

/// C8, SRC-CNS-4.
#[tokio::test]
async fn artifacts_are_streamed_by_digest_and_watched() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    // Larger than one message.
    let large: String = (0..60_000).map(|number| format!("{number:x}\n")).collect();
    registry.push_artifact("app", "latest", &[("large.txt", &large)]).await.unwrap();
    world.oci("app", &registry.url("app"), json!({})).await;
    world.ready("OCIRepository", "app").await;
    world.until_served().await;
    let (token, mut client) = (token(&world, "reader", &["get", "watch", "patch"]).await, client(&world));

    let request = |version: &str| WatchRequest {
        namespace: world.namespace.clone(),
        resource_version: version.to_owned(),
    };
    let mut news = client.watch(authorized(&token, request(""))).await.unwrap().into_inner();
    let known = news.next().await.unwrap().unwrap();
    assert_eq!((known.kind.as_str(), known.name.as_str(), known.ready), ("OCIRepository", "app", true));
    assert!(known.size > 0 && known.metadata.contains_key("org.opencontainers.image.revision"), "{known:?}");

    let mut stream =
        client.fetch(authorized(&token, named(&world, &known.digest))).await.unwrap().into_inner();
    let chunks: Vec<_> = stream.by_ref().map_ok(|message| message.chunk).try_collect().await.unwrap();
    assert!(chunks.len() > 1);
    assert_eq!(Digest::of(Algorithm::Sha256, &chunks.concat()).to_string(), known.digest);
    let trailers = stream.trailers().await.unwrap().unwrap();
    assert_eq!(trailers.get("digest").unwrap(), known.digest.as_str());

    let pushed = registry.push_artifact("app", "latest", &[("a.yaml", "a")]).await.unwrap();
    let asked = authorized(&token, reconcile(&world, "app"));
    let done = client.reconcile(asked).await.unwrap().into_inner();
    assert_eq!((done.revision, done.ready), (format!("latest@{pushed}"), true));
    // Made by something else, which would have to be asked.
    let other = ReconcileRequest { kind: "ExternalArtifact".into(), ..reconcile(&world, "app") };
    let refused = client.reconcile(authorized(&token, other)).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
    let told = async |news: &mut tonic::Streaming<WatchResponse>| loop {
        let told = news.next().await.unwrap().unwrap();
        if told.digest == done.digest && told.ready {
            break told;
        }
    };
    let new = told(&mut news).await;
    assert_eq!(new.revision, format!("latest@{pushed}"));
    // A resumed watch sends only later changes.
    let mut resumed =
        client.watch(authorized(&token, request(&known.resource_version))).await.unwrap().into_inner();
    assert_eq!(told(&mut resumed).await, new);
    let mut resumed =
        client.watch(authorized(&token, request(&new.resource_version))).await.unwrap().into_inner();
    world.api("OCIRepository").await.delete("app", &Default::default()).await.unwrap();
    let gone = resumed.next().await.unwrap().unwrap();
    assert_eq!((gone.deleted, gone.digest), (true, done.digest.clone()));
    let gone = client.fetch(authorized(&token, named(&world, &known.digest))).await.unwrap_err();
    assert_eq!(gone.code(), Code::NotFound);
}

/// C8, SRC-SCK-15: what is streamed is a whole file of the object that is asked for, or nothing.
#[tokio::test]
async fn regression_14_a_forged_status_opens_no_file_of_another_object() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    for name in ["app", "victim"] {
        registry.push_artifact(name, "latest", &[("name.txt", name)]).await.unwrap();
        world.oci(name, &registry.url(name), json!({})).await;
    }
    let own = world.ready("OCIRepository", "app").await["artifact"].clone();
    let others = world.ready("OCIRepository", "victim").await["artifact"].clone();
    world.until_served().await;
    let (token, mut client) = (token(&world, "tenant", &["get", "watch"]).await, client(&world));
    let digest = |artifact: &serde_json::Value| artifact["digest"].as_str().unwrap().to_owned();
    client.fetch(authorized(&token, named(&world, &digest(&own)))).await.unwrap();
    let zeros = format!("sha256:{}", "0".repeat(64));
    let mut misnamed = own.clone();
    misnamed["digest"] = json!(zeros);
    // The file of another object, and a file of its own that is not what is said of it.
    for forged in [others, misnamed] {
        let patch = kube::api::Patch::Merge(json!({"status": {"artifact": forged}}));
        world.api("OCIRepository").await.patch_status("app", &Default::default(), &patch).await.unwrap();
        let request = WatchRequest { namespace: world.namespace.clone(), ..WatchRequest::default() };
        let mut news = client.watch(authorized(&token, request)).await.unwrap().into_inner();
        while let Some(told) = news.next().await {
            let told = told.unwrap();
            if told.name == "app" && told.digest == digest(&forged) {
                break;
            }
        }
        let refused = client.fetch(authorized(&token, named(&world, &digest(&forged)))).await.unwrap_err();
        assert_eq!(refused.code(), Code::NotFound, "{forged}");
    }
}

/// C8, SRC-CNS-5.
#[tokio::test]
async fn callers_without_the_right_are_refused() {
    let world = World::start().await;
    world.until_served().await;
    let (token, mut client) = (token(&world, "stranger", &["list"]).await, client(&world));
    let status = client.fetch(Request::new(named(&world, "sha256:x"))).await.unwrap_err();
    assert_eq!(status.code(), Code::Unauthenticated);
    let status = client.fetch(authorized(&token, named(&world, "sha256:x"))).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied);
    let status = client.watch(authorized(&token, WatchRequest::default())).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied);
    let status = client.reconcile(authorized(&token, reconcile(&world, "app"))).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied);
    let other = FetchRequest { kind: "Secret".into(), ..named(&world, "sha256:x") };
    assert_eq!(client.fetch(authorized(&token, other)).await.unwrap_err().code(), Code::InvalidArgument);
}

/// C8, SRC-CNS-4: whoever routes to the service may ask how it is, without a token.
#[tokio::test]
async fn health_is_told() {
    let world = World::start().await;
    world.until_served().await;
    let url = format!("http://127.0.0.1:{}", world.grpc);
    let mut client = HealthClient::new(Channel::from_shared(url).unwrap().connect_lazy());
    for service in ["", "weir.source.v1.Artifacts"] {
        let request = HealthCheckRequest { service: service.to_owned() };
        let answer = client.check(request).await.unwrap().into_inner();
        assert_eq!(answer.status, ServingStatus::Serving as i32, "'{service}'");
    }
    let unknown = HealthCheckRequest { service: "nothing".to_owned() };
    assert_eq!(client.check(unknown).await.unwrap_err().code(), Code::NotFound);
}

/// C8, SRC-CNS-4: nothing is only to be had over gRPC.
#[tokio::test]
async fn who_has_no_grpc_goes_by_status_and_http() {
    let arguments = vec!["--grpc-addr=0".to_owned()];
    let world = World::start_as(Setup { arguments, ..Setup::default() }).await;
    let server = GitServer::start().await.unwrap();
    let repository = server.repo("app").unwrap();
    repository.commit("main", "first", &[("a.yaml", "a")]).unwrap();
    world.git("app", &server.url("app"), json!({})).await;
    assert_eq!(paths(&world.ready("GitRepository", "app").await).await, ["a.yaml"]);
    repository.commit("main", "second", &[("b.yaml", "b")]).unwrap();
    assert_eq!(paths(&world.reconciled("GitRepository", "app").await).await, ["a.yaml", "b.yaml"]);
    assert!(std::net::TcpStream::connect(("127.0.0.1", world.grpc)).is_err(), "gRPC is off");
}
