//! The gRPC side of the status API: authenticates, converts, calls.

use std::pin::Pin;

use futures::{Stream, StreamExt};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};
use weir_proto::Message;
use weir_proto::status::v1::{
    GetRequest, GetResponse, ListKindsRequest, ListKindsResponse, ListRequest, ListResponse, ObjectStatus,
    WatchRequest, WatchResponse, status_server,
};

use super::feed::{Feed, Selection};
use super::version::{PageToken, out_of_range};
use super::{Source, StatusRegistry};
use crate::cache::ObjectKey;
use crate::grpc::{Access, Authorizer, MAX_MESSAGE_BYTES, Rights};

/// Most bytes of the objects of one message, by which it stays below what gRPC clients take by default.
const MAX_PAGE_BYTES: usize = MAX_MESSAGE_BYTES - 64 * 1024;

/// Bytes that protobuf adds to each object of a list, at most.
const FRAME: usize = 6;

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
    fn kind(&self, kind: &str) -> Result<&'static str, Status> {
        let kinds = self.registry.kinds();
        let found = kinds.iter().find(|known| **known == kind);
        found.copied().ok_or_else(|| {
            let known = kinds.join(", ");
            Status::not_found(format!("kind '{kind}' is not served here; served are: {known}"))
        })
    }

    fn source(&self, kind: &str) -> Result<std::sync::Arc<dyn Source>, Status> {
        let kind = self.kind(kind)?;
        self.registry.source(kind).ok_or_else(|| Status::unavailable("the kind is gone"))
    }

    /// One page, or all.
    fn page(&self, source: &dyn Source, request: &ListRequest) -> Result<ListResponse, Status> {
        let kind = self.kind(&request.kind)?;
        let (version, after) = self.beginning(&request.page_token)?;
        let size = match request.page_size {
            0 => usize::MAX,
            size => size as usize,
        };
        let keys: Vec<ObjectKey> = {
            let journal = self.registry.journal.lock();
            journal
                .there(kind, &request.namespace, after.as_ref())
                .take(size.saturating_add(1))
                .cloned()
                .collect()
        };
        let (mut objects, mut bytes, mut last) = (Vec::<ObjectStatus>::new(), 0, None);
        for (at, key) in keys.into_iter().enumerate() {
            // An object that has gone meanwhile is left out; clients that had seen it learn that from the watch.
            let object = source.get(&key);
            bytes += object.as_ref().map_or(0, |object| object.encoded_len() + FRAME);
            if at == size || bytes > MAX_PAGE_BYTES {
                return self.cut(request, objects, version, last);
            }
            objects.extend(object);
            last = Some(key);
        }
        Ok(ListResponse { objects, resource_version: version.to_string(), next_page_token: String::new() })
    }

    /// The begin of a page: the version of the list, and the last object of the page before.
    fn beginning(&self, token: &str) -> Result<(super::Version, Option<ObjectKey>), Status> {
        let journal = self.registry.journal.lock();
        if token.is_empty() {
            return Ok((self.registry.version(journal.head()), None));
        }
        let PageToken { version, after } = token.parse().map_err(|_| out_of_range())?;
        // Objects deleted since the first page could not be reported any more.
        if version.epoch != self.registry.epoch || !journal.knows(version.position) {
            return Err(out_of_range());
        }
        Ok((version, Some(after)))
    }

    /// The answer when not all objects fit.
    fn cut(
        &self,
        request: &ListRequest,
        objects: Vec<ObjectStatus>,
        version: super::Version,
        last: Option<ObjectKey>,
    ) -> Result<ListResponse, Status> {
        let Some(after) = last.filter(|_| request.page_size > 0) else {
            return Err(Status::resource_exhausted(format!(
                "the objects do not fit {MAX_MESSAGE_BYTES} bytes: ask for pages with page_size"
            )));
        };
        let next_page_token = PageToken { version, after }.to_string();
        Ok(ListResponse { objects, resource_version: version.to_string(), next_page_token })
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
        let asked = request.get_ref();
        let source = self.source(&asked.kind)?;
        self.authorizer.allow(&request, access(&*source, "list", &asked.namespace, "")).await?;
        self.page(&*source, asked).map(Response::new)
    }

    async fn watch(&self, request: Request<WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let identity = self.authorizer.identify(&request).await?;
        let WatchRequest { kind, namespace, name, resource_version } = request.get_ref().clone();
        let asked = if kind.is_empty() { self.registry.kinds() } else { vec![self.kind(&kind)?] };
        let (mut kinds, mut accesses) = (Vec::new(), Vec::new());
        for known in asked {
            let Some(source) = self.registry.source(known) else { continue };
            let access = access(&*source, "watch", &namespace, &name);
            if self.authorizer.may(&identity, access.clone()).await? {
                kinds.push(known);
                accesses.push(access);
            }
        }
        if kinds.is_empty() {
            let user = identity.user;
            return Err(Status::permission_denied(format!("user '{user}' may not watch {kind} objects")));
        }
        let rights = Rights::new(&self.authorizer, &request, accesses, self.registry.rights_checked);
        let since = match resource_version.as_str() {
            "" => None,
            text => Some(text.parse().map_err(|_| out_of_range())?),
        };
        let selection = Selection { kinds, namespace, name };
        let feed = Feed::new(self.registry.clone(), selection, since)?;
        let stream = rights.guard(feed.stream()).take_until(self.stop.clone().cancelled_owned());
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
