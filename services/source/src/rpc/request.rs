//! A reconcile that a caller asks for and waits for.

use std::time::Duration;

use kube::Api;
use kube::api::{ApiResource, DynamicObject, PatchParams};
use tonic::Status;
use weir_runtime::{ObjectKey, request_reconcile};

use super::feed::News;
use crate::catalog::{Entry, Kind};

/// Longest time that a caller is kept waiting; callers set shorter deadlines themselves.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// Requests a reconcile by the annotation that everyone uses, and waits until the status shows that it was handled.
pub(super) async fn handled(
    client: &kube::Client,
    kind: &dyn Kind,
    key: &ObjectKey,
    news: &News,
) -> Result<Entry, Status> {
    let mut changes = news.subscribe();
    let token = jiff::Timestamp::now().to_string();
    annotate(client, kind, key, &token).await?;
    let wait = async {
        loop {
            match kind.get(key) {
                Some(entry) if entry.handled.as_deref() == Some(&token) => return Ok(entry),
                Some(_) => {}
                None => return Err(Status::not_found(format!("{} {key} is gone", kind.name()))),
            }
            // Whatever has changed, and however much of it was missed: the cache is asked again.
            if let Err(tokio::sync::broadcast::error::RecvError::Closed) = changes.recv().await {
                return Err(Status::unavailable("the service stops"));
            }
        }
    };
    tokio::time::timeout(PATIENCE, wait)
        .await
        .map_err(|_| Status::deadline_exceeded(format!("{} {key} was not reconciled in time", kind.name())))?
}

async fn annotate(
    client: &kube::Client,
    kind: &dyn Kind,
    key: &ObjectKey,
    token: &str,
) -> Result<(), Status> {
    let resource = ApiResource {
        group: kind.group().to_owned(),
        version: kind.version().to_owned(),
        api_version: format!("{}/{}", kind.group(), kind.version()),
        kind: kind.name().to_owned(),
        plural: kind.plural().to_owned(),
    };
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &key.namespace, &resource);
    match request_reconcile(&api, &key.name, token, &PatchParams::default()).await {
        Ok(()) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Err(Status::not_found(status.message)),
        Err(error) => Err(Status::unavailable(format!("{} {key} cannot be annotated: {error}", kind.name()))),
    }
}
