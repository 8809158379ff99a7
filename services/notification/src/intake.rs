//! The way of an incoming event, over HTTP or gRPC: cleaned, compared with earlier ones to find duplicates, matched
//! with Alerts, written to disk, handed to the dispatcher (NTF-13, NTF-15).

mod labels;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::broadcast;
use weir_api::Alert;
use weir_runtime::{Cache, EventDraft, EventSink, ObjectKey, killpoint};

use crate::alert::messages::MessageFilters;
use crate::alert::{Match, match_sources};
use crate::dedupe::{self, Gate, Pass};
use crate::dispatch::Dispatcher;
use crate::event::{Event, metadata};
use crate::outbox::{Entry, Outbox, OutboxError, Room, Target};

/// Time to find the Alerts of one event; labels of involved objects are read from the API server (NTF-22).
const MATCH_TIMEOUT: Duration = Duration::from_secs(15);
/// Events that a slow watcher may lag behind before it misses some.
const WATCHERS_LAG: usize = 1024;

/// The fate of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receipt {
    /// Taken; stored if anyone wants it. The next one of its kind may come at this time.
    Accepted(Timestamp),
    /// Told already; the next one of its kind may come at this time.
    Duplicate(Timestamp),
    /// Too much is waiting for delivery; the sender may come again.
    Full,
}

/// The pipeline before the outbox.
pub struct Intake {
    /// The service's own client.
    pub client: kube::Client,
    /// All Alerts.
    pub alerts: Cache<Alert>,
    /// Kubernetes events on Alerts.
    pub events: EventSink,
    /// Store of events.
    pub outbox: Outbox,
    /// Delivers what is stored.
    pub dispatcher: Dispatcher,
    /// The time.
    pub clock: fn() -> Timestamp,
    /// State that lasts from one event to the next.
    pub state: PipelineState,
}

/// The state of the pipeline: compiled filters of Alerts, times of accepted events, and those who watch.
pub struct PipelineState {
    filters: MessageFilters,
    gate: Gate,
    accepted: broadcast::Sender<Arc<Event>>,
}

impl PipelineState {
    /// Makes an empty state. One event of a key is admitted in each `interval`.
    pub fn new(interval: SignedDuration) -> Self {
        let (filters, gate) = (MessageFilters::default(), Gate::new(interval));
        Self { filters, gate, accepted: broadcast::Sender::new(WATCHERS_LAG) }
    }
}

impl Intake {
    /// Knows the events from before a stop or a crash again, so that their repetitions are duplicates.
    pub fn remember(&self, recent: &[(String, Timestamp)]) {
        for (key, accepted) in recent {
            self.state.gate.remember(key, *accepted);
        }
    }

    /// Makes the deliveries that a stop or a crash left, as fast as there is room for their events among the new ones.
    pub async fn resume(&self, pending: Vec<Entry>) {
        for entry in pending {
            let size = entry.event.to_bytes().len();
            let Some(room) = self.outbox.wait_for_room(size).await else { return };
            tracing::info!(
                event = entry.id,
                alerts = entry.alerts.len(),
                "delivering an event from before the start"
            );
            self.dispatcher.dispatch(entry, room);
        }
    }

    /// Events from now on, as they are accepted.
    pub fn watch(&self) -> broadcast::Receiver<Arc<Event>> {
        self.state.accepted.subscribe()
    }

    /// Takes one event of so many bytes. When this returns, the event is on disk if an Alert asks for it, also where it is a duplicate.
    /// A sender that gives up earlier does not stop that.
    ///
    /// # Errors
    /// When the event cannot be written to disk.
    pub async fn receive(self: &Arc<Self>, mut event: Event, size: usize) -> Result<Receipt, OutboxError> {
        let Some(room) = self.outbox.room_for(size) else { return Ok(Receipt::Full) };
        metadata::clean(&mut event);
        let key = dedupe::key(&event);
        let now = (self.clock)();
        let pass = match self.state.gate.admit(&key, now).await {
            Ok(pass) => pass,
            Err(reset) => {
                tracing::debug!(
                    object = event.involved_object.path(),
                    "Discarding event, rate limiting duplicate events"
                );
                return Ok(Receipt::Duplicate(reset));
            }
        };
        let reset = pass.reset;
        metadata::drop_token(&mut event);
        let event = Arc::new(event);
        // Nobody may be watching.
        let _ = self.state.accepted.send(event.clone());
        // Stored also for a sender that gives up meanwhile and does not come again.
        let this = self.clone();
        let stored = async move { this.store((key, pass), event, now, room).await };
        self.dispatcher.tasks().finish(stored).await.unwrap_or(Err(OutboxError::Closed))?;
        Ok(Receipt::Accepted(reset))
    }

    /// Puts an admitted event on disk, if anyone wants it, and starts its deliveries.
    async fn store(
        &self,
        (key, pass): (String, Pass),
        event: Arc<Event>,
        now: Timestamp,
        room: Room,
    ) -> Result<(), OutboxError> {
        let path = event.involved_object.path();
        let alerts = self.alerts_for(&event).await;
        if alerts.is_empty() {
            tracing::info!(object = path, "discarding event, no alerts found for the involved object");
            pass.keep();
            return Ok(());
        }
        let entry = self.outbox.accept(key, event, alerts, now).await?;
        pass.keep();
        killpoint::hit("after-accept");
        tracing::info!(object = path, alerts = entry.alerts.len(), "dispatching event");
        self.dispatcher.dispatch(entry, room);
        Ok(())
    }

    async fn alerts_for(&self, event: &Event) -> BTreeSet<Target> {
        let mut targets = BTreeSet::new();
        let mut labelled = Vec::new();
        for alert in self.alerts.list() {
            let key = ObjectKey::of(&*alert);
            match match_sources(&key.namespace, &alert.spec, event) {
                Match::No => continue,
                Match::IfLabelled(sources) => {
                    let sources: Vec<_> = sources.into_iter().cloned().collect();
                    labelled.push((alert, key, sources));
                    continue;
                }
                Match::Yes if self.admits_message(&alert, event) => {}
                Match::Yes => continue,
            }
            targets.insert(Target { namespace: key.namespace, name: key.name });
        }
        if labelled.is_empty() {
            return targets;
        }
        let object =
            tokio::time::timeout(MATCH_TIMEOUT, labels::of(&self.client, &event.involved_object)).await;
        let object = object.unwrap_or_else(|_| Err("timed out".to_owned()));
        for (alert, key, sources) in labelled {
            if self.has_labels(&alert, &sources, event, &object) && self.admits_message(&alert, event) {
                targets.insert(Target { namespace: key.namespace, name: key.name });
            }
        }
        targets
    }

    fn has_labels(
        &self,
        alert: &Alert,
        sources: &[weir_api::CrossNamespaceObjectReference],
        event: &Event,
        object: &Result<std::collections::BTreeMap<String, String>, String>,
    ) -> bool {
        match object {
            Ok(labels) => sources.iter().any(|source| {
                let Some(wanted) = &source.match_labels else { return true };
                let is_valid = labels::are_valid(wanted);
                if !is_valid {
                    let ObjectKey { namespace, .. } = ObjectKey::of(alert);
                    let namespace = source.namespace.as_deref().unwrap_or(&namespace);
                    let path = format!("{}/{namespace}/{}", source.kind, source.name);
                    let text = format!("error using matchLabels from event source {path}");
                    tracing::error!(alert = %ObjectKey::of(alert), "{text}");
                    self.events.send(alert, EventDraft::error("InvalidConfig", text));
                }
                is_valid && labels::match_all(wanted, labels)
            }),
            Err(error) => {
                let text = format!("error getting source object {}", event.involved_object.path());
                tracing::error!(alert = %ObjectKey::of(alert), error, "{text}");
                self.events.send(alert, EventDraft::error("SourceFetchFailed", text));
                false
            }
        }
    }

    fn admits_message(&self, alert: &Alert, event: &Event) -> bool {
        let filter = self.state.filters.of(alert);
        filter.admits(&event.message, |fault| {
            tracing::error!(alert = %ObjectKey::of(alert), "{fault}");
            self.events.send(alert, EventDraft::error("InvalidConfig", fault));
        })
    }
}
