//! The history of an object: its conditions and events, and the statuses that a watcher sees.

use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::{DynamicObject, WatchEvent, WatchParams};
use serde_json::Value;

use crate::world::{DEADLINE, World};

/// Conditions of a status, a line each.
pub fn lines(status: &Value) -> Vec<String> {
    let text = |condition: &Value, key: &str| condition[key].as_str().unwrap().to_owned();
    let line = |condition: &Value| {
        let [kind, status, reason, message] =
            ["type", "status", "reason", "message"].map(|key| text(condition, key));
        format!("{kind} {status} {reason}: {message}")
    };
    status["conditions"].as_array().unwrap().iter().map(line).collect()
}

/// The conditions of an object, a line each.
pub async fn conditions(world: &World, kind: &str, name: &str) -> Vec<String> {
    lines(&world.api(kind).await.get(name).await.unwrap().data["status"])
}

/// The events of the world's namespace, oldest first.
pub async fn all_events(world: &World) -> Vec<Event> {
    let api: Api<Event> = Api::namespaced(world.plane.client().unwrap(), &world.namespace);
    let mut events = api.list(&Default::default()).await.unwrap().items;
    // A name is that of the object, a dot, and the time.
    let time = |event: &Event| {
        event.metadata.name.as_deref().and_then(|name| name.split('.').next_back()).map(str::to_owned)
    };
    events.sort_by_key(time);
    events
}

/// An event in a line.
pub fn event_line(event: Event) -> String {
    let [kind, reason, message] = [event.type_, event.reason, event.message].map(Option::unwrap_or_default);
    format!("{kind} {reason}: {message}")
}

/// The statuses that a watcher sees after `before`, each once, up to the first that is the `last`.
pub async fn statuses_since(
    world: &World,
    before: &DynamicObject,
    last: impl Fn(&Value) -> bool,
) -> Vec<Value> {
    let kind = &before.types.as_ref().unwrap().kind;
    let name = before.metadata.name.as_deref().unwrap();
    let version = before.metadata.resource_version.as_deref().unwrap();
    let of_name = WatchParams::default().fields(&format!("metadata.name={name}"));
    let api = world.api(kind).await;
    let (mut seen, mut known) = (Vec::new(), before.data["status"].clone());
    let watching = async {
        let mut changes = std::pin::pin!(api.watch(&of_name, version).await.unwrap());
        while let Some(change) = changes.try_next().await.unwrap() {
            let WatchEvent::Modified(object) = change else { panic!("{kind}/{name}: {change:?}") };
            let status = object.data["status"].clone();
            if status != known {
                seen.push(status.clone());
                known = status;
            }
            if seen.last().is_some_and(&last) {
                return;
            }
        }
    };
    if tokio::time::timeout(DEADLINE + Duration::from_secs(10), watching).await.is_err() {
        panic!("{kind}/{name}: only {seen:#?} came\n{}", world.controller.log_tail());
    }
    seen
}
