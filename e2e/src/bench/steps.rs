//! The steps of users with many objects of a kind, named `unit-0` and so on.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, bail};
use futures::{Stream, StreamExt, TryStreamExt, stream};
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use weir_testkit::condition;

/// Requests of the user in flight; the API server's limit for mutating requests is 200.
const IN_FLIGHT: usize = 20;

/// Time in which nobody asks for anything.
const IDLE: Duration = Duration::from_secs(60);

/// Returns the names of objects.
pub(crate) fn names(size: usize) -> impl Iterator<Item = String> {
    (0..size).map(|number| format!("unit-{number}"))
}

/// Returns the number in the name of an object.
pub(crate) fn number(name: &str) -> usize {
    name.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// Makes objects `unit-0` and so on.
pub(crate) async fn create(
    api: &Api<DynamicObject>,
    size: usize,
    object: impl Fn(&str) -> Value,
) -> Result<()> {
    let params = PostParams::default();
    stream::iter(names(size))
        .map(|name| {
            let object = serde_json::from_value::<DynamicObject>(object(&name));
            let params = &params;
            async move { anyhow::Ok(api.create(params, &object?).await?) }
        })
        .buffer_unordered(IN_FLIGHT)
        .try_for_each(|_| async { Ok(()) })
        .await
}

/// Patches them all.
pub(crate) async fn patch(api: &Api<DynamicObject>, size: usize, patch: Value) -> Result<()> {
    let (patch, params) = (Patch::Merge(patch), PatchParams::default());
    let (patch, params) = (&patch, &params);
    stream::iter(names(size))
        .map(|name| async move { api.patch(&name, params, patch).await })
        .buffer_unordered(IN_FLIGHT)
        .try_for_each(|_| async { Ok(()) })
        .await?;
    Ok(())
}

/// Deletes them all, each by a request of its own: one for a whole collection of thousands broke off.
pub(super) async fn delete(api: &Api<DynamicObject>, size: usize) -> Result<()> {
    let params = DeleteParams::default();
    let params = &params;
    stream::iter(names(size))
        .map(|name| async move { api.delete(&name, params).await })
        .buffer_unordered(IN_FLIGHT)
        .try_for_each(|_| async { Ok(()) })
        .await?;
    wait_for_none(api).await
}

/// Asks all for a reconciliation, and waits until all have had it and are Ready.
pub(crate) async fn request(api: &Api<DynamicObject>, size: usize) -> Result<()> {
    let token = jiff::Timestamp::now().to_string();
    let annotations = json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": token}}});
    patch(api, size, annotations).await?;
    let handled = |object: &DynamicObject| {
        let at = object.data.pointer("/status/lastHandledReconcileAt").and_then(Value::as_str);
        at == Some(&token) && is_ready(object)
    };
    wait_for_all(api, size, handled).await
}

/// Returns true when the object is Ready about its newest generation.
pub(crate) fn is_ready(object: &DynamicObject) -> bool {
    condition(object, "Ready").is_some_and(|ready| {
        ready.status == "True" && Some(ready.observed_generation) == object.metadata.generation
    })
}

/// Watches until as many objects as there are fit.
pub(crate) async fn wait_for_all(
    api: &Api<DynamicObject>,
    size: usize,
    fits: impl Fn(&DynamicObject) -> bool,
) -> Result<()> {
    let mut fitting = BTreeSet::new();
    let mut events = std::pin::pin!(watched(api));
    while let Some(event) = events.next().await {
        if let Event::InitApply(object) | Event::Apply(object) = event {
            if fits(&object) {
                fitting.insert(object.name_any());
            } else {
                fitting.remove(&object.name_any());
            }
            if fitting.len() == size {
                return Ok(());
            }
        }
    }
    bail!("the watch ended with {} of {size}", fitting.len())
}

/// Lets a minute pass.
pub(super) async fn idle() -> Result<()> {
    #[expect(clippy::disallowed_methods, reason = "the time itself is measured")]
    tokio::time::sleep(IDLE).await;
    Ok(())
}

/// Watches; a watch that breaks off is told and begun anew.
fn watched(api: &Api<DynamicObject>) -> impl Stream<Item = Event<DynamicObject>> {
    let events = watcher::watcher(api.clone(), watcher::Config::default()).default_backoff();
    events.filter_map(async |event| event.inspect_err(|error| eprintln!("  watch: {error}")).ok())
}

async fn wait_for_none(api: &Api<DynamicObject>) -> Result<()> {
    let mut left = BTreeSet::new();
    let mut events = std::pin::pin!(watched(api));
    while let Some(event) = events.next().await {
        let may_be_over = matches!(event, Event::InitDone | Event::Delete(_));
        match event {
            Event::InitApply(object) | Event::Apply(object) => drop(left.insert(object.name_any())),
            Event::Delete(object) => drop(left.remove(&object.name_any())),
            Event::Init | Event::InitDone => {}
        }
        if may_be_over && left.is_empty() {
            return Ok(());
        }
    }
    bail!("the watch ended with {} left", left.len())
}
