//! The only place that writes what a run came to: finalizers, status, events, metrics and the log line.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, ApiResource, Patch, PatchParams};
use kube::core::NamespaceResourceScope;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use weir_api::condition_type::{READY, RECONCILING, STALLED};
use weir_api::{Condition, FluxObject};

use super::backoff::RetryDelays;
use super::patch::merge_diff;
use super::progress::Phase;
use super::{Finalized, Next, Outcome, Reconciler, requested_at};
use crate::cache::{Cache, ObjectKey, Text, Unreadable};
use crate::client;
use crate::condition::{self, Status, Writer};
use crate::event::{EventDraft, EventSink};
use crate::killpoint;
use crate::metrics::ControllerMetrics;

/// Pause before a write is tried again that lost against another writer, doubled each time; the watch brings that write
/// within this time (SRC-REC-11).
const CONFLICT_PAUSE: Duration = Duration::from_millis(100);
/// Number of tries before the run is made again instead.
const CONFLICTS: u32 = 5;

/// Reason of the conditions of an object that does not fit its API type.
const UNREADABLE: &str = "InvalidObject";

/// Time for which a result waits for an API server that is away: longer than it takes to restart one. The worker waits with it,
/// since no other result could be written either.
const AWAY_PATIENCE: Duration = Duration::from_secs(60);
/// Pause between the tries.
const AWAY_PAUSE: Duration = Duration::from_secs(1);

/// The settings that the report takes from its service.
pub(crate) struct ReportSettings {
    pub client: kube::Client,
    /// Field manager of status and finalizers.
    pub field_manager: String,
    pub events: EventSink,
    pub metrics: ControllerMetrics,
    pub retry_delays: RetryDelays,
    pub clock: fn() -> Timestamp,
}

pub(super) struct Reporter<K> {
    settings: ReportSettings,
    cache: Cache<K>,
    kind: ApiResource,
}

pub(super) fn has_finalizer(object: &impl kube::Resource, name: &str) -> bool {
    object.meta().finalizers.iter().flatten().any(|finalizer| finalizer == name)
}

/// Returns true when the status says anything. The status that every object has from the start counts: it says that a run is
/// still to come.
pub(super) fn has_status(object: &impl FluxObject) -> bool {
    object.status_value().as_object().is_some_and(|fields| !fields.is_empty())
}

impl<K> Reporter<K>
where
    K: FluxObject + kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    pub(super) fn new(settings: ReportSettings, cache: Cache<K>) -> Self {
        Self { settings, cache, kind: ApiResource::erase::<K>(&()) }
    }

    pub(super) fn now(&self) -> Timestamp {
        (self.settings.clock)()
    }

    pub(super) fn metrics(&self) -> &ControllerMetrics {
        &self.settings.metrics
    }

    /// The object is gone: its series go too (DEP-OBS-2).
    pub(super) fn forget(&self, key: &ObjectKey) {
        self.settings.metrics.forget(K::KIND, key);
    }

    /// Puts the finalizer on, before anything is done that would have to be undone.
    pub(super) async fn ensure_finalizer<R: Reconciler>(&self, object: Arc<K>) -> Result<Arc<K>, Next> {
        if !R::FINALIZER || has_finalizer(&*object, R::FINALIZER_NAME) {
            return Ok(object);
        }
        let mut finalizers = object.meta().finalizers.clone().unwrap_or_default();
        finalizers.push(R::FINALIZER_NAME.to_owned());
        let object = self.set_finalizers(&object, finalizers).await?;
        killpoint::hit("after-finalizer");
        self.cache.insert(object.clone());
        Ok(Arc::new(object))
    }

    /// A suspended object is left alone; only the request is noted, so that nobody waits for it.
    pub(super) async fn suspended<R: Reconciler<Object = K>>(&self, reconciler: &R, object: &K) -> Next {
        self.tell(object, R::suspended_event(object).into_iter().collect());
        let shown = reconciler.suspended(object).await;
        let shown = shown.and_then(|shown| merge_diff(&object.status_value(), &shown.status_value()));
        let mut status = shown.unwrap_or_else(|| json!({}));
        let requested = requested_at(object);
        if R::RECORDS_REQUESTS && requested.is_some() && requested != object.last_handled_reconcile_at() {
            set_field(&mut status, "lastHandledReconcileAt", requested.into());
        }
        if status == json!({}) {
            return Next::Stop;
        }
        self.write_status(object, status).await.err().unwrap_or(Next::Stop)
    }

    /// Writes that a run lasts. Best effort: the result is what counts.
    pub(super) async fn progress(&self, object: Arc<K>, phase: Phase<K>) {
        let object = self.latest(&object);
        let shown = phase.retracted.as_ref().unwrap_or(&object);
        let mut status =
            merge_diff(&object.status_value(), &shown.status_value()).unwrap_or_else(|| json!({}));
        let mut conditions = self.progressing(shown, &phase);
        condition::keep_foreign(&mut conditions, object.conditions());
        set_field(&mut status, "conditions", json!(conditions));
        let _ = self.write_status(&object, status).await;
    }

    /// Writes what a run records before it goes on. Returns the object as it was written, if that
    /// succeeded.
    pub(super) async fn record(
        &self,
        object: Arc<K>,
        phase: Phase<K>,
        cancel: &CancellationToken,
    ) -> Option<Arc<K>> {
        let shown = phase.retracted.as_ref().unwrap_or(&object);
        let conditions = self.progressing(shown, &phase);
        let written = self.write_result(&object, shown.status_value(), &conditions, cancel).await;
        killpoint::hit("after-record");
        written.is_ok().then(|| self.latest(&object))
    }

    /// The conditions of an object while a run lasts.
    fn progressing(&self, shown: &K, phase: &Phase<K>) -> Vec<Condition> {
        let mut conditions = shown.conditions().to_vec();
        let writer = Writer::of(shown, self.now());
        if phase.is_new {
            writer.progressing(&mut conditions, &phase.ready, &phase.reconciling);
        } else {
            writer.looking(&mut conditions, &phase.reconciling);
        }
        conditions
    }

    /// Writes the status if it differs, then sends the events.
    pub(super) async fn outcome<R: Reconciler>(
        &self,
        object: &K,
        outcome: Outcome<K>,
        took: Duration,
        cancel: &CancellationToken,
    ) -> Next {
        let key = ObjectKey::of(object);
        let mut desired = outcome.object.status_value();
        let is_handled = R::RECORDS_REQUESTS && !outcome.leaves_request;
        if let (true, Some(token)) = (is_handled, requested_at(object)) {
            set_field(&mut desired, "lastHandledReconcileAt", token.into());
        }
        let written = self.write_result(object, desired, outcome.object.conditions(), cancel).await;
        killpoint::hit("after-status");
        self.tell(&outcome.object, outcome.events);
        let next = written.err().unwrap_or(outcome.next);
        self.settings.metrics.reconciled(K::KIND, &key, took, next);
        log(took, outcome.object.revision(), outcome.log, outcome.cause);
        next
    }

    /// Takes everything out of the status.
    pub(super) async fn clear_status(&self, object: &K) -> Next {
        match merge_diff(&object.status_value(), &json!({})) {
            Some(patch) => self.write_status(object, patch).await.err().unwrap_or(Next::Stop),
            None => Next::Stop,
        }
    }

    /// Takes the finalizer off, or keeps the object until it can go.
    pub(super) async fn finalized<R: Reconciler<Object = K>>(
        &self,
        object: &K,
        finalized: Finalized<K>,
    ) -> Next {
        match finalized {
            Finalized::Done { events } => {
                self.tell(object, events);
                self.remove_finalizer::<R>(object).await.err().unwrap_or(Next::Stop)
            }
            Finalized::Retry { object: desired, events } => {
                let desired = desired.as_ref().map(FluxObject::status_value);
                if let Some(patch) =
                    desired.and_then(|desired| merge_diff(&self.latest(object).status_value(), &desired))
                {
                    let _ = self.write_status(object, patch).await;
                }
                self.tell(object, events);
                Next::Backoff
            }
            Finalized::Wait { give_up, events } => {
                self.tell(object, events);
                Next::Wait { give_up }
            }
        }
    }

    async fn remove_finalizer<R: Reconciler<Object = K>>(&self, object: &K) -> Result<(), Next> {
        self.show_kept::<R>(object).await?;
        let object = self.latest(object);
        if !has_finalizer(&*object, R::FINALIZER_NAME) {
            return Ok(());
        }
        let others = object.meta().finalizers.iter().flatten();
        let others = others.filter(|finalizer| *finalizer != R::FINALIZER_NAME).cloned().collect();
        killpoint::hit("before-finalizer-removal");
        let removed = self.set_finalizers(&object, others).await;
        killpoint::hit("after-finalizer-removal");
        removed.map(drop)
    }

    /// Reports an object that does not fit its API type, if there is one of that name.
    pub(super) async fn report_unreadable<R: Reconciler>(&self, key: &ObjectKey) -> Option<Next> {
        let object = self.cache.unreadable(key)?;
        match object.meta.deletion_timestamp {
            Some(_) => self.let_go::<R>(key, &object.meta).await,
            None if R::HAS_STATUS => self.refuse(key, &object).await,
            None => None,
        }
    }

    /// Shows that somebody has to correct an object before anything is done about it.
    async fn refuse(&self, key: &ObjectKey, object: &Unreadable) -> Option<Next> {
        let generation = object.meta.generation.unwrap_or_default();
        let message = format!("the object does not fit its API type: {}", object.reason);
        let mut conditions = object.conditions.clone()?;
        condition::remove(&mut conditions, RECONCILING);
        for (type_, status) in [(STALLED, Status::True), (READY, Status::False)] {
            condition::set(&mut conditions, type_, status, UNREADABLE, &message, generation, self.now());
        }
        if Some(&conditions) == object.conditions.as_ref() {
            return None;
        }
        let status = json!({ "conditions": conditions, "observedGeneration": generation });
        let version = object.meta.resource_version.as_ref();
        let patch = json!({ "metadata": { "resourceVersion": version }, "status": status });
        self.send(key, Some("status"), patch).await.err().map(|error| Self::write_failed("status", error))
    }

    /// Takes the finalizer off an object that is being deleted and does not fit its API type: its deletion would hang. Nothing
    /// that it has made is removed, since nobody can read what that is.
    async fn let_go<R: Reconciler>(&self, key: &ObjectKey, meta: &ObjectMeta) -> Option<Next> {
        let (ours, others): (Vec<_>, Vec<_>) =
            meta.finalizers.iter().flatten().partition(|finalizer| *finalizer == R::FINALIZER_NAME);
        if ours.is_empty() {
            return None;
        }
        let patch = json!({ "metadata": { "finalizers": others, "resourceVersion": meta.resource_version } });
        match self.send(key, None, patch).await {
            Ok(_) => {
                tracing::warn!("deleted without an end to its work: the object does not fit its API type");
                None
            }
            Err(error) => Some(Self::write_failed("finalizers", error)),
        }
    }

    /// Writes the status of an object that stays for the finalizers of others. Nobody sees that of one that goes.
    async fn show_kept<R: Reconciler<Object = K>>(&self, object: &K) -> Result<(), Next> {
        let mut finalizers = object.meta().finalizers.iter().flatten();
        if !finalizers.any(|finalizer| finalizer != R::FINALIZER_NAME) {
            return Ok(());
        }
        let shown = R::kept(object).map(|kept| kept.status_value());
        match shown.and_then(|shown| merge_diff(&object.status_value(), &shown)) {
            Some(patch) => self.write_status(object, patch).await,
            None => Ok(()),
        }
    }

    /// A panic costs its own run only (FLG-05).
    pub(super) fn panicked(&self, key: &ObjectKey, panic: &(dyn Any + Send), took: Duration) -> Next {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        self.settings.metrics.panicked();
        self.settings.metrics.reconciled(K::KIND, key, took, Next::Backoff);
        tracing::error!(error = text, "panic recovered");
        Next::Backoff
    }

    /// Sends events about an object.
    pub(super) fn tell(&self, object: &K, events: Vec<EventDraft>) {
        for event in events {
            self.settings.events.send(object, event);
        }
    }

    /// The newest known state of the same object: a progress write may have come between.
    fn latest(&self, object: &K) -> Arc<K> {
        let known = self.cache.get(&ObjectKey::of(object));
        known
            .filter(|known| known.meta().uid == object.meta().uid)
            .unwrap_or_else(|| Arc::new(object.clone()))
    }

    /// Changes an object, or its status, by a merge patch.
    async fn patch(&self, object: &K, subresource: Option<&str>, patch: Value) -> kube::Result<K> {
        let written = self.send(&ObjectKey::of(object), subresource, patch).await?;
        written.decode().map_err(kube::Error::SerdeError)
    }

    async fn send(&self, key: &ObjectKey, subresource: Option<&str>, patch: Value) -> kube::Result<Text> {
        let client = self.settings.client.clone();
        let api = Api::<Text>::namespaced_with(client, &key.namespace, &self.kind);
        let (params, patch) = (self.params(), Patch::Merge(patch));
        match subresource {
            None => api.patch(&key.name, &params, &patch).await,
            Some(subresource) => api.patch_subresource(subresource, &key.name, &params, &patch).await,
        }
    }

    fn params(&self) -> PatchParams {
        PatchParams { field_manager: Some(self.settings.field_manager.clone()), ..PatchParams::default() }
    }

    async fn set_finalizers(&self, object: &K, finalizers: Vec<String>) -> Result<K, Next> {
        // Merge patches replace lists, so that the version guards against finalizers of others being lost.
        let version = object.meta().resource_version.clone();
        let patch = json!({ "metadata": { "finalizers": finalizers, "resourceVersion": version } });
        let written = self.patch(object, None, patch).await;
        written.map_err(|error| Self::write_failed("finalizers", error))
    }

    /// Writes the result of a run, over the status as it is by now. While no API server is there, the write is tried
    /// again and not the run, unless something newer follows or another replica may lead by then.
    #[expect(
        clippy::disallowed_methods,
        reason = "what a run has done must not be lost; ended by a cancellation"
    )]
    async fn write_result(
        &self,
        object: &K,
        mut desired: Value,
        ours: &[Condition],
        cancel: &CancellationToken,
    ) -> Result<(), Next> {
        let since = tokio::time::Instant::now();
        let mut conflicts = 0;
        loop {
            let latest = self.latest(object);
            let mut conditions = ours.to_vec();
            condition::keep_foreign(&mut conditions, latest.conditions());
            if !conditions.is_empty() {
                set_field(&mut desired, "conditions", json!(conditions));
            }
            let Some(patch) = merge_diff(&latest.status_value(), &desired) else { return Ok(()) };
            let result = self.patch_status(&*latest, &patch).await;
            let pause = match &result {
                Err(error) if is_away(error) && since.elapsed() < AWAY_PATIENCE => AWAY_PAUSE,
                Err(error) if client::is_conflict(error) && conflicts < CONFLICTS => {
                    conflicts += 1;
                    CONFLICT_PAUSE * 2_u32.pow(conflicts - 1)
                }
                _ => return result.map_err(|error| Self::write_failed("status", error)),
            };
            if cancel.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                return result.map_err(|error| Self::write_failed("status", error));
            }
        }
    }

    async fn write_status(&self, object: &K, status: Value) -> Result<(), Next> {
        let result = self.patch_status(object, &status).await;
        result.map_err(|error| Self::write_failed("status", error))
    }

    async fn patch_status(&self, object: &K, status: &Value) -> kube::Result<()> {
        // Merge patches replace lists, so that the version guards against conditions of others being lost.
        let version = object.meta().resource_version.clone();
        let patch = json!({ "metadata": { "resourceVersion": version }, "status": status });
        self.cache.insert(self.patch(object, Some("status"), patch).await?);
        Ok(())
    }

    fn write_failed(what: &str, error: kube::Error) -> Next {
        match &error {
            kube::Error::Api(status) if status.code == 404 => Next::Stop,
            _ if client::is_conflict(&error) => Next::After(CONFLICT_PAUSE),
            _ => {
                tracing::error!(error = client::reason(error), "could not write {what}");
                Next::Backoff
            }
        }
    }
}

/// Returns true when a request got no answer at all.
fn is_away(error: &kube::Error) -> bool {
    matches!(error, kube::Error::HyperError(_) | kube::Error::Service(_))
}

fn set_field(object: &mut Value, field: &str, value: Value) {
    match object {
        Value::Object(fields) => {
            fields.insert(field.to_owned(), value);
        }
        other => *other = json!({ field: value }),
    }
}

/// The one line of a run; whose it is stands in the span around it.
fn log(
    took: Duration,
    revision: Option<&str>,
    line: Option<(tracing::Level, String)>,
    cause: Option<String>,
) {
    let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    match line {
        Some((tracing::Level::ERROR, message)) => {
            tracing::error!(revision, duration_ms, error = cause, "{message}")
        }
        Some((tracing::Level::INFO, message)) => tracing::info!(revision, duration_ms, "{message}"),
        Some((_, message)) => tracing::debug!(revision, duration_ms, "{message}"),
        None => tracing::debug!(revision, duration_ms, "reconciled"),
    }
}

#[cfg(test)]
mod tests;
