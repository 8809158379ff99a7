//! Resolutions from image-reflector's stream, and without it.

use std::pin::Pin;

use futures::{Stream, StreamExt, stream};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_stream::wrappers::TcpListenerStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};
use weir_proto::image::v1::reflector_server::{Reflector, ReflectorServer};
use weir_proto::image::v1::{
    ListTagsRequest, ListTagsResponse, Resolution, ResolvePolicyRequest, ResolvePolicyResponse,
    WatchResolutionsRequest, WatchResolutionsResponse,
};
use weir_testkit::{ControlPlane, eventually};

use crate::world::{DEADLINE, World};

/// Streams one resolution and then nothing, until it is stopped.
struct OneResolution {
    resolution: Resolution,
    stop: CancellationToken,
}

type Responses = Pin<Box<dyn Stream<Item = Result<WatchResolutionsResponse, Status>> + Send>>;

#[tonic::async_trait]
impl Reflector for OneResolution {
    type WatchResolutionsStream = Responses;

    async fn list_tags(&self, _: Request<ListTagsRequest>) -> Result<Response<ListTagsResponse>, Status> {
        Err(Status::unimplemented("not asked for"))
    }

    async fn resolve_policy(
        &self,
        _: Request<ResolvePolicyRequest>,
    ) -> Result<Response<ResolvePolicyResponse>, Status> {
        Err(Status::unimplemented("not asked for"))
    }

    async fn watch_resolutions(
        &self,
        _: Request<WatchResolutionsRequest>,
    ) -> Result<Response<Responses>, Status> {
        let first = WatchResolutionsResponse { resolution: Some(self.resolution.clone()) };
        let stop = self.stop.clone();
        let ended = stream::once(async move {
            stop.cancelled_owned().await;
            Err(Status::unavailable("stopped"))
        });
        Ok(Response::new(Box::pin(stream::iter([Ok(first)]).chain(ended))))
    }
}

#[tokio::test]
async fn the_stream_is_ahead_of_the_api_and_the_api_is_there_without_it() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let plane = ControlPlane::shared().await.unwrap();
    let token = eventually("the account", DEADLINE, async || {
        plane.token_file("default", "default", &["weir"]).await.ok()
    });
    let token = format!("--peer-token-file={}", token.await.unwrap().display());
    let reflector = format!("--image-reflector-grpc-addr={addr}");
    let world = World::start_with(|_| Vec::new(), &[token, reflector]).await;
    let repo = world.app().await;
    world.automation("app", json!({})).await;
    world.until_seen("app", "web", "1.0.0").await;

    let stop = CancellationToken::new();
    let resolution = Resolution {
        namespace: world.namespace.clone(),
        policy: "web".into(),
        image: "r/web".into(),
        tag: "2.0.0".into(),
        digest: String::new(),
    };
    let server = tonic::transport::Server::builder()
        .add_service(ReflectorServer::new(OneResolution { resolution, stop: stop.clone() }));
    let mut tasks = JoinSet::new();
    tasks.spawn(
        server.serve_with_incoming_shutdown(TcpListenerStream::new(listener), stop.clone().cancelled_owned()),
    );
    world.until_seen("app", "web", "2.0.0").await;

    stop.cancel();
    tasks.join_all().await;
    world.select("web", "r/web", "3.0.0").await;
    world.until_seen("app", "web", "3.0.0").await;
    assert_eq!(repo.read("main", "web.yaml").unwrap(), world.manifest("r/web:3.0.0", "web"));
}
