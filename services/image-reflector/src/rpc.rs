//! The gRPC side: tags of a repository, resolution of a policy, and the stream of resolutions.

use std::pin::Pin;

use futures::{Stream, StreamExt, future, stream};
use tokio_stream::wrappers::{BroadcastStream, errors::BroadcastStreamRecvError};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};
use weir_api::{ImagePolicy, ImageRepository};
use weir_proto::image::v1::{
    ListTagsRequest, ListTagsResponse, Resolution, ResolvePolicyRequest, ResolvePolicyResponse,
    WatchResolutionsRequest, WatchResolutionsResponse, reflector_server,
};
use weir_runtime::grpc::{Access, Authorizer};
use weir_runtime::{Cache, ObjectKey};

use crate::{
    feed::{self, Feed},
    tag_store::TagStore,
};

/// Bytes of the tags of one answer. Clients of gRPC take messages of 4 MiB, in which each tag has two to three bytes more.
const MAX_LIST: u64 = 3 << 20;

/// The service that callers reach.
pub(crate) struct Rpc {
    pub(crate) repositories: Cache<ImageRepository>,
    pub(crate) policies: Cache<ImagePolicy>,
    pub(crate) store: TagStore,
    pub(crate) feed: Feed,
    pub(crate) authorizer: Authorizer,
    pub(crate) shutdown: CancellationToken,
}

type Resolutions = Pin<Box<dyn Stream<Item = Result<WatchResolutionsResponse, Status>> + Send>>;

#[tonic::async_trait]
impl reflector_server::Reflector for Rpc {
    type WatchResolutionsStream = Resolutions;

    async fn list_tags(
        &self,
        request: Request<ListTagsRequest>,
    ) -> Result<Response<ListTagsResponse>, Status> {
        let ListTagsRequest { namespace, name } = request.get_ref().clone();
        let key = ObjectKey::new(namespace, name);
        self.authorizer.allow(&request, Access::to::<ImageRepository>("get", &key)).await?;
        let found = self.repositories.get(&key);
        let repository =
            found.ok_or_else(|| Status::not_found(format!("ImageRepository '{key}' not found")))?;
        let tags = self.store.blocking(move |store| store.read_within(&key, MAX_LIST)).await;
        let tags = tags.map_err(|error| Status::internal(error.to_string()))?;
        let too_many = || Status::resource_exhausted("the repository has more tags than one answer takes");
        let tags = tags.ok_or_else(too_many)?;
        Ok(Response::new(ListTagsResponse { image: repository.spec.image.clone(), tags }))
    }

    async fn resolve_policy(
        &self,
        request: Request<ResolvePolicyRequest>,
    ) -> Result<Response<ResolvePolicyResponse>, Status> {
        let ResolvePolicyRequest { namespace, name } = request.get_ref().clone();
        let key = ObjectKey::new(namespace, name);
        self.authorizer.allow(&request, Access::to::<ImagePolicy>("get", &key)).await?;
        let found = self.policies.get(&key);
        let policy = found.ok_or_else(|| Status::not_found(format!("ImagePolicy '{key}' not found")))?;
        Ok(Response::new(ResolvePolicyResponse { resolution: Some(feed::current(&policy)) }))
    }

    async fn watch_resolutions(
        &self,
        request: Request<WatchResolutionsRequest>,
    ) -> Result<Response<Resolutions>, Status> {
        let namespace = request.get_ref().namespace.clone();
        let access = Access::to::<ImagePolicy>("watch", &ObjectKey::new(&namespace, ""));
        let rights = self.authorizer.allow_stream(&request, access).await?;
        // Subscribed before the list is read: a change in between is sent twice rather than never.
        let changes = BroadcastStream::new(self.feed.subscribe());
        let known = self.policies.list().into_iter().map(|policy| feed::current(&policy));
        let known: Vec<_> = known.filter(|resolution| !resolution.tag.is_empty()).map(Ok).collect();
        let is_wanted =
            move |resolution: &Resolution| namespace.is_empty() || resolution.namespace == namespace;
        let responses = stream::iter(known).chain(changes).filter_map(move |resolution| {
            future::ready(match resolution {
                Ok(resolution) if is_wanted(&resolution) => {
                    Some(Ok(WatchResolutionsResponse { resolution: Some(resolution) }))
                }
                Ok(_) => None,
                Err(BroadcastStreamRecvError::Lagged(count)) => {
                    Some(Err(Status::data_loss(format!("{count} changes were missed; watch again"))))
                }
            })
        });
        let told = rights.guard(responses).take_until(self.shutdown.clone().cancelled_owned());
        Ok(Response::new(Box::pin(told)))
    }
}
