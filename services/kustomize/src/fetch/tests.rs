use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use rstest::rstest;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};
use weir_proto::source::v1::artifacts_server::{Artifacts as Service, ArtifactsServer};
use weir_proto::source::v1::{
    FetchResponse, ReconcileRequest, ReconcileResponse, WatchRequest, WatchResponse,
};
use weir_runtime::ObjectKey;
use weir_runtime::grpc::Peers;
use weir_runtime::metrics::{Metrics, Payload};
use weir_testkit::{SinkAnswer, WebhookSink};

use super::*;

/// The bytes that the artifact's digest promises.
const CONTENT: &[u8] = b"the archive of a source";

/// A source service whose every answer is this chunk, unless it is empty, and then this error if there is one.
#[derive(Default)]
struct StandIn {
    chunk: &'static [u8],
    end: Option<Status>,
    asked: Arc<AtomicUsize>,
}

#[tonic::async_trait]
impl Service for StandIn {
    type FetchStream = BoxStream<'static, Result<FetchResponse, Status>>;
    type WatchStream = BoxStream<'static, Result<WatchResponse, Status>>;

    async fn fetch(&self, _: Request<FetchRequest>) -> Result<Response<Self::FetchStream>, Status> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let chunk = FetchResponse { chunk: self.chunk.into() };
        let chunk = (!self.chunk.is_empty()).then_some(Ok(chunk));
        let messages = chunk.into_iter().chain(self.end.clone().map(Err));
        Ok(Response::new(stream::iter(messages.collect::<Vec<_>>()).boxed()))
    }

    async fn watch(&self, _: Request<WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        Err(Status::unimplemented("watch"))
    }

    async fn reconcile(&self, _: Request<ReconcileRequest>) -> Result<Response<ReconcileResponse>, Status> {
        Err(Status::unimplemented("reconcile"))
    }
}

/// An artifact that a stand-in streams and an HTTP server has whole.
struct World {
    artifacts: Artifacts,
    artifact: Artifact,
    http: WebhookSink,
    _stand_in: JoinSet<Result<(), tonic::transport::Error>>,
}

impl World {
    async fn start(stand_in: StandIn) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut tasks = JoinSet::new();
        let server = Server::builder().add_service(ArtifactsServer::new(stand_in));
        tasks.spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
        let http = WebhookSink::start().await.unwrap();
        http.answer_with(|_| SinkAnswer { body: CONTENT.into(), ..SinkAnswer::default() });

        let channel = Peers::in_process().connect(&address.to_string()).unwrap();
        let routes = Metrics::default().routes(Payload::Artifact);
        let artifacts = Artifacts::new(Some(channel), LocalHosts::default(), 0, 1 << 20, routes).unwrap();
        let digest = Digest::of(weir_artifact::Algorithm::Sha256, CONTENT).to_string();
        let artifact = Artifact { url: http.url("/a.tar.gz"), digest, ..Artifact::default() };
        Self { artifacts, artifact, http, _stand_in: tasks }
    }

    async fn blob(&self) -> Result<(VerifiedBlob, Route), Error> {
        let source = SourceId { kind: "GitRepository".to_owned(), key: ObjectKey::new("apps", "web") };
        self.artifacts.blob(&source, &self.artifact).await
    }
}

/// Fetches an artifact; returns how often the HTTP server was asked, too.
async fn fetched(stand_in: StandIn) -> (Result<(VerifiedBlob, Route), Error>, usize) {
    let world = World::start(stand_in).await;
    (world.blob().await, world.http.requests().len())
}

/// A stream that is waited for in vain costs its time once, and is found again later. One that ends at once costs none.
#[rstest]
#[case::slow(b"", Status::unavailable("packets are lost"), Duration::ZERO, 1)]
#[case::lost(b"", Status::unavailable("nobody listens"), SLOW_TRY, 2)]
#[case::of_another(b"", Status::not_found("another service has it"), Duration::ZERO, 2)]
#[case::overtaxed(b"", Status::resource_exhausted("too many streams"), Duration::ZERO, 2)]
#[case::unreadable(b"", Status::internal("the disk"), Duration::ZERO, 2)]
#[case::refused(b"", Status::permission_denied("no rights"), Duration::ZERO, 2)]
#[case::broken_off(&CONTENT[..9], Status::unavailable("the service stops"), Duration::ZERO, 2)]
#[tokio::test]
async fn a_stream_that_was_slow_to_fail_is_left_alone_for_a_while(
    #[case] chunk: &'static [u8],
    #[case] end: Status,
    #[case] slow: Duration,
    #[case] expected: usize,
) {
    let asked = Arc::new(AtomicUsize::new(0));
    let mut world = World::start(StandIn { chunk, end: Some(end), asked: asked.clone() }).await;
    world.artifacts.stream.as_mut().unwrap().slow = slow;
    for _ in 0..2 {
        assert_eq!(world.blob().await.unwrap().1, Route::Http);
    }
    assert_eq!(asked.load(Ordering::SeqCst), expected);
    *world.artifacts.stream.as_ref().unwrap().away.lock() = Some(Instant::now());
    world.blob().await.unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), expected + 1);
}

/// Without a way by HTTP the stream is the better one: it needs no server of files.
#[tokio::test]
async fn a_stream_is_tried_again_at_once_where_http_leads_nowhere() {
    let asked = Arc::new(AtomicUsize::new(0));
    let end = Some(Status::unavailable("the service starts"));
    let mut world = World::start(StandIn { end, asked: asked.clone(), ..StandIn::default() }).await;
    world.artifact.url = "http://127.0.0.1:1/a.tar.gz".to_owned();
    for _ in 0..2 {
        assert!(world.blob().await.is_err());
    }
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

/// HTTP stands in for a stream that does not come or breaks off.
#[rstest]
#[case::whole(CONTENT, None, Route::Grpc)]
#[case::broken_off(&CONTENT[..9], Some(Status::unavailable("the service stops")), Route::Http)]
#[case::refused(b"", Some(Status::permission_denied("no rights")), Route::Http)]
#[case::unknown(b"", Some(Status::not_found("another service has it")), Route::Http)]
#[tokio::test]
async fn http_stands_in_for_a_stream_that_is_not_there(
    #[case] chunk: &'static [u8],
    #[case] end: Option<Status>,
    #[case] expected: Route,
) {
    let (blob, asked) = fetched(StandIn { chunk, end, ..StandIn::default() }).await;
    assert_eq!(blob.unwrap().1, expected);
    assert_eq!(asked, usize::from(expected == Route::Http));
}

/// A stream that ends as if it were whole is the source's answer: the URL is not tried until it has another (KS-SRC-22).
#[rstest]
#[case::truncated(&CONTENT[..9])]
#[case::empty(b"")]
#[case::of_another_artifact(b"the archive of another!")]
#[tokio::test]
async fn security_http_does_not_stand_in_for_wrong_content(#[case] chunk: &'static [u8]) {
    let (blob, asked) = fetched(StandIn { chunk, ..StandIn::default() }).await;
    let error = blob.err().unwrap();
    assert!(matches!(error, Error::Mismatch(_)), "{error}");
    assert!(!error.may_pass());
    assert_eq!(asked, 0);
}

/// KS-SRC-22
#[test]
fn digest_of_the_status_may_lack_its_algorithm_and_is_named_when_it_is_none() {
    let hex = "a".repeat(64);
    assert_eq!(promised(&hex).unwrap().to_string(), format!("sha256:{hex}"));
    let failure = |text: &str| promised(text).unwrap_err().to_string();
    assert!(failure("").ends_with("empty digest"));
    let message = "failed to parse digest 'md5:ab': unsupported digest algorithm";
    assert!(failure("md5:ab").ends_with(message), "{}", failure("md5:ab"));
    let message = "failed to parse digest 'sha256:zz': invalid checksum digest format";
    assert!(failure("zz").ends_with(message), "{}", failure("zz"));
}

/// KS-SRC-20
#[test]
fn pauses_between_downloads_double_up_to_half_a_minute() {
    let pauses: Vec<_> = (1..=7).map(|failures| pause(failures).as_secs()).collect();
    assert_eq!(pauses, [1, 2, 4, 8, 16, 30, 30]);
    assert_eq!(pause(u32::MAX), RETRY_PAUSE.1);
}
