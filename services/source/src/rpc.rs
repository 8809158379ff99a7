//! Artifacts over gRPC: by digest, and as a stream of what is new (SRC-CNS-4, SRC-CNS-5).

use crate::storage::Storage;
use futures::stream::BoxStream;
use futures::{StreamExt, stream};
use std::io::Read;
use tokio::sync::{broadcast, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};
use weir_api::{Artifact, FluxObject, GitRepository, OciRepository};
use weir_artifact::RelPath;
use weir_proto::source::v1::artifacts_server::{Artifacts, ArtifactsServer};
use weir_proto::source::v1::{FetchRequest, FetchResponse, WatchRequest, WatchResponse};
use weir_runtime::grpc::{Access, Authorizer};
use weir_runtime::{Cache, Change, ObjectKey, Service};

/// Bytes of one message.
const CHUNK: usize = 64 * 1024;
/// Chunks that are read ahead of a slow caller.
const CHUNKS_AHEAD: usize = 4;
/// Artifacts that a slow watcher may be behind before it has to start anew.
const WATCH_BACKLOG: usize = 1024;

/// The caches in which artifacts are found, and the news about them.
#[derive(Clone)]
struct Sources {
    git: Cache<GitRepository>,
    oci: Cache<OciRepository>,
    news: broadcast::Sender<WatchResponse>,
}

/// Adds the methods to the service's gRPC server.
pub(crate) fn serve(
    service: &Service,
    storage: Storage,
    git: Cache<GitRepository>,
    oci: Cache<OciRepository>,
) {
    let news = broadcast::Sender::new(WATCH_BACKLOG);
    tell_of(&git, &news, artifact_of_git);
    tell_of(&oci, &news, artifact_of_oci);
    let doorman = Doorman { authorizer: service.authorizer(), sources: Sources { git, oci, news }, storage };
    service.grpc(move |server| server.add(ArtifactsServer::new(doorman)));
}

/// Tells watchers of every artifact that was not there before.
fn tell_of<K: FluxObject>(
    cache: &Cache<K>,
    news: &broadcast::Sender<WatchResponse>,
    artifact: fn(&K) -> Option<&Artifact>,
) {
    let news = news.clone();
    cache.on_change(move |change: &Change<K>| {
        let Some(object) = &change.new else { return };
        let digest = |object: &K| {
            artifact(object).map(|artifact| (artifact.digest.clone(), artifact.revision.clone()))
        };
        if change.old.as_ref().and_then(|old| digest(old)) != digest(object)
            && let Some(told) = response(&**object, artifact(object))
        {
            // Nobody may be listening.
            let _ = news.send(told);
        }
    });
}

fn artifact_of_git(object: &GitRepository) -> Option<&Artifact> {
    object.status.as_ref()?.artifact.as_ref()
}

fn artifact_of_oci(object: &OciRepository) -> Option<&Artifact> {
    object.status.as_ref()?.artifact.as_ref()
}

fn response<K: FluxObject>(object: &K, artifact: Option<&Artifact>) -> Option<WatchResponse> {
    let (key, artifact) = (ObjectKey::of(object), artifact?);
    Some(WatchResponse {
        kind: K::KIND.to_owned(),
        namespace: key.namespace,
        name: key.name,
        revision: artifact.revision.clone(),
        digest: artifact.digest.clone(),
        url: artifact.url.clone(),
    })
}

impl Sources {
    /// The advertised artifact of an object.
    fn artifact(&self, kind: &str, key: &ObjectKey) -> Option<Artifact> {
        match kind {
            GitRepository::KIND => self.git.get(key).and_then(|object| artifact_of_git(&object).cloned()),
            OciRepository::KIND => self.oci.get(key).and_then(|object| artifact_of_oci(&object).cloned()),
            _ => None,
        }
    }

    /// All artifacts that are there.
    fn all(&self) -> Vec<WatchResponse> {
        let git = self.git.list();
        let oci = self.oci.list();
        let git = git.iter().filter_map(|object| response(&**object, artifact_of_git(object)));
        let oci = oci.iter().filter_map(|object| response(&**object, artifact_of_oci(object)));
        git.chain(oci).collect()
    }
}

/// Checks the caller and passes the request on.
struct Doorman {
    authorizer: Authorizer,
    sources: Sources,
    storage: Storage,
}

impl Doorman {
    async fn allow<T>(
        &self,
        request: &Request<T>,
        verb: &'static str,
        kind: &str,
        key: ObjectKey,
    ) -> Result<(), Status> {
        let resource = match kind {
            GitRepository::KIND => GitRepository::PLURAL,
            OciRepository::KIND => OciRepository::PLURAL,
            _ => return Err(Status::invalid_argument(format!("'{kind}' is no kind of source"))),
        };
        let access = Access {
            verb,
            group: GitRepository::GROUP.to_owned(),
            resource: resource.to_owned(),
            namespace: key.namespace,
            name: key.name,
        };
        self.authorizer.allow(request, access).await.map(drop)
    }
}

#[tonic::async_trait]
impl Artifacts for Doorman {
    type FetchStream = BoxStream<'static, Result<FetchResponse, Status>>;
    type WatchStream = BoxStream<'static, Result<WatchResponse, Status>>;

    async fn fetch(&self, request: Request<FetchRequest>) -> Result<Response<Self::FetchStream>, Status> {
        let asked = request.get_ref();
        let key = ObjectKey::new(&asked.namespace, &asked.name);
        self.allow(&request, "get", &asked.kind, key.clone()).await?;
        let artifact =
            self.sources.artifact(&asked.kind, &key).filter(|artifact| artifact.digest == asked.digest);
        let gone = || {
            Status::not_found(format!("{} {key} has no artifact with digest '{}'", asked.kind, asked.digest))
        };
        let path = artifact.and_then(|artifact| RelPath::parse(&artifact.path).ok()).ok_or_else(gone)?;
        let store = self.storage.store().clone();
        let opened = self.storage.blocking(move || store.open_file(&path)).await;
        let file = opened.and_then(|file| file).map_err(|_| gone())?;
        Ok(Response::new(chunks(file).boxed()))
    }

    async fn watch(&self, request: Request<WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let namespace = request.get_ref().namespace.clone();
        for kind in [GitRepository::KIND, OciRepository::KIND] {
            self.allow(&request, "watch", kind, ObjectKey::new(&namespace, "")).await?;
        }
        // Subscribed before the list is made: an artifact in between is told twice rather than never.
        let news = tokio_stream::wrappers::BroadcastStream::new(self.sources.news.subscribe());
        let known = stream::iter(self.sources.all().into_iter().map(Ok));
        let news = news.map(|told| told.map_err(|_| Status::data_loss("too slow: watch again")));
        let wanted = move |told: &Result<WatchResponse, Status>| {
            told.as_ref().map_or(true, |told| namespace.is_empty() || told.namespace == namespace)
        };
        Ok(Response::new(known.chain(news).filter(move |told| futures::future::ready(wanted(told))).boxed()))
    }
}

/// The file in pieces, read on a blocking thread as fast as the caller takes them.
fn chunks(mut file: std::fs::File) -> ReceiverStream<Result<FetchResponse, Status>> {
    let (sender, receiver) = mpsc::channel(CHUNKS_AHEAD);
    tokio::task::spawn_blocking(move || {
        loop {
            let mut chunk = Vec::with_capacity(CHUNK);
            let read = file.by_ref().take(CHUNK as u64).read_to_end(&mut chunk);
            let message = match read {
                Ok(0) => return,
                Ok(_) => Ok(FetchResponse { chunk }),
                Err(error) => Err(Status::data_loss(error.to_string())),
            };
            let is_last = message.is_err();
            if sender.blocking_send(message).is_err() || is_last {
                return;
            }
        }
    });
    ReceiverStream::new(receiver)
}
