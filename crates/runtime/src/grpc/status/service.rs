//! The doorman of the status API: authenticates, converts, calls.

use std::pin::Pin;

use futures::{Stream, StreamExt};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};
use weir_proto::status::v1::{
    GetRequest, GetResponse, ListKindsRequest, ListKindsResponse, ListRequest, ListResponse, WatchRequest,
    WatchResponse, status_server,
};

use super::{Source, StatusRegistry, feed};
use crate::cache::ObjectKey;
use crate::grpc::{Access, Authorizer};

pub(super) struct StatusService {
    pub registry: StatusRegistry,
    pub authorizer: Authorizer,
    pub stop: CancellationToken,
}

fn access(source: &dyn Source, verb: &'static str, namespace: &str, name: &str) -> Access {
    Access {
        verb,
        group: source.group().to_owned(),
        resource: source.plural().to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

impl StatusService {
    fn source(&self, kind: &str) -> Result<std::sync::Arc<dyn Source>, Status> {
        self.registry.source(kind).ok_or_else(|| {
            let known = self.registry.kinds().join(", ");
            Status::not_found(format!("kind '{kind}' is not served here; served are: {known}"))
        })
    }
}

#[tonic::async_trait]
impl status_server::Status for StatusService {
    type WatchStream = Pin<Box<dyn Stream<Item = Result<WatchResponse, Status>> + Send>>;

    async fn get(&self, request: Request<GetRequest>) -> Result<Response<GetResponse>, Status> {
        let GetRequest { kind, namespace, name } = request.get_ref();
        let source = self.source(kind)?;
        self.authorizer.allow(&request, access(&*source, "get", namespace, name)).await?;
        let object = source.get(&ObjectKey::new(namespace, name));
        let object =
            object.ok_or_else(|| Status::not_found(format!("{kind} '{namespace}/{name}' not found")))?;
        Ok(Response::new(GetResponse { object: Some(object) }))
    }

    async fn list(&self, request: Request<ListRequest>) -> Result<Response<ListResponse>, Status> {
        let ListRequest { kind, namespace } = request.get_ref();
        let source = self.source(kind)?;
        self.authorizer.allow(&request, access(&*source, "list", namespace, "")).await?;
        let objects = source.list(namespace);
        let resource_version = feed::newest(&objects).to_string();
        Ok(Response::new(ListResponse { objects, resource_version }))
    }

    async fn watch(&self, request: Request<WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let identity = self.authorizer.identify(&request).await?;
        let WatchRequest { kind, namespace, name, resource_version } = request.into_inner();
        let mut kinds = Vec::new();
        if kind.is_empty() {
            for known in self.registry.kinds() {
                let source = self.source(known)?;
                if self.authorizer.may(&identity, access(&*source, "watch", &namespace, &name)).await? {
                    kinds.push(known);
                }
            }
        } else {
            let source = self.source(&kind)?;
            if self.authorizer.may(&identity, access(&*source, "watch", &namespace, &name)).await? {
                kinds.extend(self.registry.kinds().into_iter().find(|known| *known == kind));
            }
        }
        if kinds.is_empty() {
            return Err(Status::permission_denied(format!(
                "user '{}' may not watch {kind} objects",
                identity.user
            )));
        }
        let since = match resource_version.as_str() {
            "" => 0,
            text => text.parse().map_err(|_| Status::invalid_argument("resource_version is not a number"))?,
        };
        let selection = feed::Selection { kinds, namespace, name, since };
        let stream = feed::stream(&self.registry, selection).take_until(self.stop.clone().cancelled_owned());
        Ok(Response::new(Box::pin(stream)))
    }

    async fn list_kinds(
        &self,
        request: Request<ListKindsRequest>,
    ) -> Result<Response<ListKindsResponse>, Status> {
        self.authorizer.identify(&request).await?;
        let kinds = self.registry.kinds().into_iter().map(str::to_owned).collect();
        Ok(Response::new(ListKindsResponse { kinds }))
    }
}
