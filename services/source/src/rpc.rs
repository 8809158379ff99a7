//! Artifacts over gRPC: by digest, as a stream of what is new, and made anew when asked (SRC-CNS-4, SRC-CNS-5).

mod chunks;
mod feed;
mod request;

use std::fmt::Display;

use futures::StreamExt;
use futures::stream::BoxStream;
use tokio_util::sync::CancellationToken;
use tonic::{Code, Request, Response, Status};
use weir_api::{ExternalArtifact, FluxObject};
use weir_artifact::{Digest, Location, VerifyError};
use weir_proto::source::v1::artifacts_server::{Artifacts, ArtifactsServer};
use weir_proto::source::v1::{
    FetchRequest, FetchResponse, ReconcileRequest, ReconcileResponse, WatchRequest, WatchResponse,
};
use weir_runtime::grpc::{Authorizer, Rights};
use weir_runtime::{ObjectKey, Service};

use self::feed::{News, Selection};
use crate::catalog::{self, Catalog, Entry, Kind};
use crate::storage::Storage;

/// Adds the methods to the service's gRPC server.
pub(crate) fn serve(service: &Service, storage: Storage, catalog: Catalog) {
    let rpc = Rpc {
        authorizer: service.authorizer(),
        client: service.client().clone(),
        news: News::of(&catalog),
        catalog,
        storage,
        stop: service.shutdown(),
    };
    service.grpc(move |server| server.add(ArtifactsServer::new(rpc)));
}

/// The service that callers reach: checks the caller and passes the request on.
struct Rpc {
    authorizer: Authorizer,
    client: kube::Client,
    catalog: Catalog,
    news: News,
    storage: Storage,
    stop: CancellationToken,
}

impl Rpc {
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
        self.authorizer.allow(request, catalog::access(kind, verb, key)).await.map(drop)
    }

    /// The kinds that the caller may watch, and its rights to them.
    async fn watched<T>(
        &self,
        request: &Request<T>,
        namespace: &str,
    ) -> Result<(Vec<&'static str>, Rights), Status> {
        let (mut allowed, mut accesses) = (Vec::new(), Vec::new());
        let mut refused = None;
        for kind in self.catalog.kinds() {
            let access = catalog::access(&**kind, "watch", ObjectKey::new(namespace, ""));
            match self.authorizer.allow(request, access.clone()).await {
                Ok(_) => {
                    allowed.push(kind.name());
                    accesses.push(access);
                }
                Err(status) if status.code() == Code::PermissionDenied => refused = Some(status),
                Err(status) => return Err(status),
            }
        }
        match refused {
            Some(refused) if allowed.is_empty() => Err(refused),
            _ => Ok((allowed, self.authorizer.allowed_stream(request, accesses))),
        }
    }
}

#[tonic::async_trait]
impl Artifacts for Rpc {
    type FetchStream = BoxStream<'static, Result<FetchResponse, Status>>;
    type WatchStream = BoxStream<'static, Result<WatchResponse, Status>>;

    async fn fetch(&self, request: Request<FetchRequest>) -> Result<Response<Self::FetchStream>, Status> {
        let asked = request.get_ref();
        let key = ObjectKey::new(&asked.namespace, &asked.name);
        let kind = self.kind(&asked.kind)?;
        self.allow(&request, "get", kind, key.clone()).await?;
        let is_asked = |entry: Entry| entry.artifact.filter(|artifact| artifact.digest == asked.digest);
        let failed = |error: &dyn Display| {
            tracing::warn!(%key, kind = asked.kind, %error, "an artifact cannot be streamed");
            Status::unavailable(error.to_string())
        };
        let artifact = match kind.get(&key).and_then(is_asked) {
            Some(artifact) => Some(artifact),
            None => {
                let current = kind.current(&self.client, &key).await;
                current.map_err(|error| failed(&error))?.and_then(is_asked)
            }
        };
        let gone = || {
            Status::not_found(format!("{} {key} has no artifact with digest '{}'", asked.kind, asked.digest))
        };
        let artifact = artifact.ok_or_else(gone)?;
        let digest = Digest::parse(&artifact.digest).map_err(|_| gone())?;
        let at = Location::new(kind.name(), &key.namespace, &key.name).map_err(|_| gone())?;
        let store = self.storage.store().clone();
        // A status may be forged: what is streamed is a whole file of that object, or nothing (SRC-SCK-15).
        let open = move || store.open_verified(&at, &artifact.path, &artifact.digest);
        let opened = self.storage.blocking(open).await.map_err(|error| failed(&error))?;
        let file = opened.map_err(|error| match error {
            VerifyError::Read { .. } => failed(&error),
            _ => gone(),
        })?;
        Ok(Response::new(chunks::of(file, digest.algorithm()).boxed()))
    }

    async fn watch(&self, request: Request<WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let WatchRequest { namespace, resource_version } = request.get_ref();
        let (kinds, rights) = self.watched(&request, namespace).await?;
        let since = match resource_version.as_str() {
            "" => 0,
            text => text.parse().map_err(|_| Status::invalid_argument("resource_version is not a number"))?,
        };
        let selection = Selection { kinds, namespace: namespace.clone(), since };
        let told = rights.guard(self.news.stream(&self.catalog, selection));
        Ok(Response::new(told.take_until(self.stop.clone().cancelled_owned()).boxed()))
    }

    async fn reconcile(
        &self,
        request: Request<ReconcileRequest>,
    ) -> Result<Response<ReconcileResponse>, Status> {
        let asked = request.get_ref();
        let key = ObjectKey::new(&asked.namespace, &asked.name);
        let kind = self.kind(&asked.kind)?;
        self.allow(&request, "patch", kind, key.clone()).await?;
        // Nobody answers requests for these: another object, or another controller, makes them.
        if kind.name() == ExternalArtifact::KIND {
            let text = "an ExternalArtifact is made by what its spec.sourceRef names: reconcile that";
            return Err(Status::failed_precondition(text));
        }
        let handled = request::handled(&self.client, kind, &key, &self.news).await?;
        let artifact = handled.artifact.unwrap_or_default();
        let answer =
            ReconcileResponse { ready: handled.ready, revision: artifact.revision, digest: artifact.digest };
        Ok(Response::new(answer))
    }
}
