//! A watcher's stream: what is there, a mark, then every change.

use futures::{Stream, StreamExt, stream};
use tokio_stream::wrappers::BroadcastStream;
use tokio_stream::wrappers::errors::BroadcastStreamRecvError;
use tonic::Status;
use weir_proto::status::v1::{ChangeType, ObjectStatus, WatchResponse};

use super::{StatusRegistry, Update};

/// What one watcher asked for.
#[derive(Debug, Clone)]
pub(super) struct Selection {
    pub kinds: Vec<&'static str>,
    pub namespace: String,
    pub name: String,
    /// Resource version up to which the watcher has seen everything.
    pub since: u64,
}

impl Selection {
    fn wants(&self, object: &ObjectStatus) -> bool {
        self.kinds.contains(&object.kind.as_str())
            && (self.namespace.is_empty() || self.namespace == object.namespace)
            && (self.name.is_empty() || self.name == object.name)
    }
}

fn version(object: &ObjectStatus) -> u64 {
    object.resource_version.parse().unwrap_or_default()
}

/// The newest resource version among objects.
pub(super) fn newest(objects: &[ObjectStatus]) -> u64 {
    objects.iter().map(version).max().unwrap_or_default()
}

fn response(type_: ChangeType, object: Option<ObjectStatus>) -> WatchResponse {
    WatchResponse { r#type: type_.into(), object }
}

pub(super) fn stream(
    registry: &StatusRegistry,
    selection: Selection,
) -> impl Stream<Item = Result<WatchResponse, Status>> + Send + 'static {
    // Subscribed before listing, so that a change in between is sent twice rather than never.
    let updates = BroadcastStream::new(registry.updates.subscribe());
    let sources = selection.kinds.iter().filter_map(|kind| registry.source(kind));
    let listed: Vec<_> = sources.flat_map(|source| source.list(&selection.namespace)).collect();
    let there =
        listed.into_iter().filter(|object| selection.wants(object) && version(object) > selection.since);
    let there: Vec<_> = there.map(|object| Ok(response(ChangeType::Applied, Some(object)))).collect();
    let synced = Ok(response(ChangeType::Synced, None));
    let changes = updates.filter_map(move |update| {
        let item = match update {
            Ok(Update { deleted, object }) => selection.wants(&object).then(|| {
                let type_ = if deleted { ChangeType::Deleted } else { ChangeType::Applied };
                Ok(response(type_, Some((*object).clone())))
            }),
            Err(BroadcastStreamRecvError::Lagged(missed)) => Some(Err(Status::resource_exhausted(format!(
                "{missed} changes were missed: watch again from the last resource version"
            )))),
        };
        std::future::ready(item)
    });
    stream::iter(there.into_iter().chain([synced])).chain(until_error(changes))
}

/// Ends a stream after its first error: what follows would have a gap.
fn until_error<T: Send + 'static>(
    items: impl Stream<Item = Result<T, Status>> + Send + 'static,
) -> impl Stream<Item = Result<T, Status>> + Send + 'static {
    items.scan(false, |ended, item| {
        let next = (!*ended).then_some(item);
        *ended |= matches!(next, Some(Err(_)));
        std::future::ready(next)
    })
}
