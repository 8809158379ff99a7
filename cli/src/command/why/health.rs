//! The objects that a Kustomization applies and that are not as they should be.

use futures::stream::{self, StreamExt};
use jiff::Timestamp;
use kube::api::{Api, DynamicObject};
use serde_json::Value;
use weir_kstatus::{Status, assess};
use weir_ssa::{Mapper, ObjectId};

use super::finding::{Finding, State};
use crate::cluster::Cluster;
use crate::error::Error;

/// Objects that are looked at. A person reads the first few; the cap bounds the requests.
const MAX_OBJECTS: usize = 500;

/// Objects that are shown: what else is wrong is seen once these are mended.
const MAX_SHOWN: usize = 8;

/// Requests in flight at once.
const CONCURRENCY: usize = 16;

/// Returns what there is to say about the applied objects that are not ready.
pub(super) async fn of(
    cluster: &Cluster,
    kustomization: &DynamicObject,
    now: Timestamp,
) -> Result<Vec<Finding>, Error> {
    if kustomization.data.pointer("/spec/kubeConfig").is_some_and(|config| !config.is_null()) {
        return Ok(Vec::new());
    }
    let entries = kustomization.data.pointer("/status/inventory/entries").and_then(Value::as_array);
    let ids = entries.into_iter().flatten().filter_map(|entry| entry.get("id")?.as_str()?.parse().ok());
    let ids: Vec<ObjectId> = ids.take(MAX_OBJECTS).collect();
    let mapper = &Mapper::new(cluster.client.clone());
    let looks = ids.into_iter().map(|id| look(cluster, mapper, id, now));
    let found: Vec<_> = stream::iter(looks).buffered(CONCURRENCY).collect().await;
    let found: Result<Vec<_>, Error> = found.into_iter().collect();
    Ok(found?.into_iter().flatten().take(MAX_SHOWN).collect())
}

/// Looks at an object; there is nothing to say about one that is ready, or that cannot be read.
async fn look(
    cluster: &Cluster,
    mapper: &Mapper,
    id: ObjectId,
    now: Timestamp,
) -> Result<Option<Finding>, Error> {
    let Ok(mapping) = cluster.in_time(mapper.preferred(&id.group, &id.kind)).await? else { return Ok(None) };
    let api: Api<DynamicObject> = match mapping.is_namespaced {
        true => Api::namespaced_with(cluster.client.clone(), &id.namespace, &mapping.resource),
        false => Api::all_with(cluster.client.clone(), &mapping.resource),
    };
    let read = cluster.in_time(api.get_opt(&id.name)).await?;
    let (state, headline, message) = match read.map(|object| object.map(serde_json::to_value)) {
        Ok(Some(Ok(object))) => {
            let assessment = assess(&object, now);
            let state = match assessment.status {
                Status::Current => return Ok(None),
                Status::Failed => State::Failed,
                _ => State::Waiting,
            };
            (state, assessment.status.to_string(), assessment.message)
        }
        Ok(None) => (State::Missing, "missing: it was applied, and is gone".to_owned(), String::new()),
        Ok(Some(Err(_))) | Err(_) => return Ok(None),
    };
    let place = if id.namespace.is_empty() { String::new() } else { format!("-n {} ", id.namespace) };
    let hint = Some(format!("kubectl {place}describe {} {}", id.kind.to_lowercase(), id.name));
    Ok(Some(Finding {
        subject: id.subject(),
        role: "it applies",
        state,
        headline,
        message,
        hint,
        below: Vec::new(),
        is_repeated: false,
    }))
}
