//! Artifacts over gRPC: by digest, and as a stream of what is new (SRC-CNS-4, SRC-CNS-5).

use crate::catalog::{Catalog, Entry, Kind};
use crate::storage::Storage;
use futures::stream::BoxStream;
use futures::{StreamExt, stream};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::io::Read;
use tokio::sync::{broadcast, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};
use weir_artifact::RelPath;
use weir_proto::source::v1::artifacts_server::{Artifacts, ArtifactsServer};
use weir_proto::source::v1::{FetchRequest, FetchResponse, WatchRequest, WatchResponse};
use weir_runtime::grpc::{Access, Authorizer};
use weir_runtime::{ObjectKey, Service};

/// Bytes of one message.
const CHUNK: usize = 64 * 1024;
/// Chunks that are read ahead of a slow caller.
const CHUNKS_AHEAD: usize = 4;
/// Artifacts that a slow watcher may be behind before it has to start anew.
const WATCH_BACKLOG: usize = 1024;

/// Adds the methods to the service's gRPC server.
pub(crate) fn serve(service: &Service, storage: Storage, catalog: Catalog) {
    let news = broadcast::Sender::new(WATCH_BACKLOG);
    for kind in catalog.kinds() {
        tell_of(&**kind, &news);
    }
    let doorman = Doorman { authorizer: service.authorizer(), catalog, news, storage };
    service.grpc(move |server| server.add(ArtifactsServer::new(doorman)));
}

/// Tells watchers of every artifact that was not there before.
fn tell_of(kind: &dyn Kind, news: &broadcast::Sender<WatchResponse>) {
    let news = news.clone();
    let told: Mutex<HashMap<ObjectKey, (String, String)>> = Mutex::default();
    kind.follow(Box::new(move |entry| {
        let stands = entry.artifact.as_ref().filter(|_| !entry.deleted);
        let stands = stands.map(|artifact| (artifact.digest.clone(), artifact.revision.clone()));
        let mut told = told.lock();
        let Some(stands) = stands else {
            told.remove(&entry.key);
            return;
        };
        if told.insert(entry.key.clone(), stands.clone()).as_ref() != Some(&stands) {
            // Nobody may be listening.
            let _ = response(&entry).map(|told| news.send(told));
        }
    }));
}

fn response(entry: &Entry) -> Option<WatchResponse> {
    let artifact = entry.artifact.as_ref()?;
    Some(WatchResponse {
        kind: entry.kind.to_owned(),
        namespace: entry.key.namespace.clone(),
        name: entry.key.name.clone(),
        revision: artifact.revision.clone(),
        digest: artifact.digest.clone(),
        url: artifact.url.clone(),
    })
}

/// Checks the caller and passes the request on.
struct Doorman {
    authorizer: Authorizer,
    catalog: Catalog,
    news: broadcast::Sender<WatchResponse>,
    storage: Storage,
}

impl Doorman {
    fn kind(&self, name: &str) -> Result<&dyn Kind, Status> {
        let unknown = || Status::invalid_argument(format!("'{name}' is no kind of source"));
        self.catalog.kind(name).map(|kind| &**kind).ok_or_else(unknown)
    }

    async fn allow<T>(
        &self,
        request: &Request<T>,
        verb: &'static str,
        kind: &dyn Kind,
        key: ObjectKey,
    ) -> Result<(), Status> {
        let access = Access {
            verb,
            group: kind.group().to_owned(),
            resource: kind.plural().to_owned(),
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
        let kind = self.kind(&asked.kind)?;
        self.allow(&request, "get", kind, key.clone()).await?;
        let artifact = kind.get(&key).and_then(|entry| entry.artifact);
        let artifact = artifact.filter(|artifact| artifact.digest == asked.digest);
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
        for kind in self.catalog.kinds() {
            self.allow(&request, "watch", &**kind, ObjectKey::new(&namespace, "")).await?;
        }
        // Subscribed before the list is made: an artifact in between is told twice rather than never.
        let news = tokio_stream::wrappers::BroadcastStream::new(self.news.subscribe());
        let known: Vec<_> =
            self.catalog.kinds().flat_map(|kind| kind.list()).filter_map(|entry| response(&entry)).collect();
        let known = stream::iter(known.into_iter().map(Ok));
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
