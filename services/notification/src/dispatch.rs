//! The way from an accepted event and an Alert to a delivery: guards, provider, rendering, sending, and the event
//! about a failure.

mod discarded;
pub mod fairness;
pub mod guard;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::api::Api;
use tokio::sync::broadcast;
use weir_access::Secrets;
use weir_api::{Alert, Provider};
use weir_auth::Logins;
use weir_expression::{Expression, Type};
use weir_http::redact;
use weir_runtime::client::reason;
use weir_runtime::{Cache, EventDraft, EventSink, ObjectKey};

use self::discarded::Discarded;
use self::fairness::{Fairness, MAX_WAITING_PER_PROVIDER};
use self::guard::{Policy, Verdict};
use crate::delivery::{DeliveryError, Sender};
use crate::event::{Event, ObjectReference, metadata};
use crate::metrics::DeliveryMetrics;
use crate::outbox::{Entry, Outbox, Room, Target};
use crate::provider::login::log_in;
use crate::provider::resolve::{Resolved, resolve};
use crate::provider::{self, GIT_STATUS_TYPES, Settings, git};
use crate::tasks::Tasks;

/// Text that stands for a secret in the error of a delivery (NTF-54, NTF-128).
const MASK: &str = "*****";
/// Time for one delivery with all its tries; the Provider can set another.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(15);
/// Deliveries that a slow watcher may lag behind before it misses some.
const WATCHERS_LAG: usize = 1024;

/// A delivery that has ended, for whoever watches.
#[derive(Debug, Clone)]
pub struct Delivered {
    /// The Alert it was made for.
    pub alert: ObjectKey,
    /// Name of the Provider.
    pub provider: String,
    /// The event as received.
    pub event: Arc<Event>,
    /// Error of the delivery, without secrets; empty when it succeeded.
    pub error: String,
}

/// Everything that deliveries need.
pub struct DispatcherParts {
    /// The service's own client.
    pub client: kube::Client,
    /// All Alerts.
    pub alerts: Cache<Alert>,
    /// All Providers.
    pub providers: Cache<Provider>,
    /// Kubernetes events on Alerts; they are never fed into this service (NTF-36).
    pub events: EventSink,
    /// Logs in to clouds and GitHub for Providers.
    pub logins: Logins,
    /// Sends.
    pub sender: Sender,
    /// Notes deliveries as done.
    pub outbox: Outbox,
    /// Counts.
    pub metrics: DeliveryMetrics,
    /// The policy that deliveries obey.
    pub policy: Policy,
    /// The time.
    pub clock: fn() -> jiff::Timestamp,
}

/// Makes deliveries in the background. Their number is bounded by what the outbox admits.
#[derive(Clone)]
pub struct Dispatcher {
    parts: Arc<DispatcherParts>,
    fairness: Arc<Fairness>,
    tasks: Tasks,
    delivered: broadcast::Sender<Delivered>,
}

/// The end of one delivery.
struct Attempt {
    /// Type of the Provider; empty if it was not read.
    provider_type: String,
    result: Result<(), Failure>,
}

impl Attempt {
    /// Makes the end of a delivery that did not get to its Provider.
    fn refused(error: String) -> Self {
        Self { provider_type: String::new(), result: Err(Failure::Dispatch(error)) }
    }
}

/// A failed delivery: failed before it was sent, or while it was sent.
enum Failure {
    Dispatch(String),
    Send(String),
}

impl Dispatcher {
    /// A dispatcher without work.
    pub fn new(parts: DispatcherParts) -> Self {
        Self {
            parts: Arc::new(parts),
            fairness: Arc::default(),
            tasks: Tasks::default(),
            delivered: broadcast::Sender::new(WATCHERS_LAG),
        }
    }

    /// Deliveries from now on.
    pub fn watch(&self) -> broadcast::Receiver<Delivered> {
        self.delivered.subscribe()
    }

    /// Starts the deliveries of an entry, each on its own.
    pub fn dispatch(&self, entry: Entry, room: Room) {
        let (room, discarded) = (Arc::new(room), Arc::new(Discarded::of(&entry.event)));
        for target in entry.alerts {
            let (this, event, room) = (self.clone(), entry.event.clone(), room.clone());
            let (id, discarded) = (entry.id, discarded.clone());
            self.tasks.start(async move {
                this.deliver(&target, event, discarded).await;
                this.parts.outbox.done(id, target, (this.parts.clock)()).await;
                drop(room);
            });
        }
    }

    /// The tasks that are waited for at a stop.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Waits for deliveries in flight; what is left after the grace period is made again after the next start (NTF-118).
    pub async fn drain(&self, grace: Duration) {
        let left = self.tasks.drain(grace).await;
        if left > 0 {
            tracing::warn!(deliveries = left, "deliveries are left for the next start");
        }
    }

    async fn deliver(&self, target: &Target, event: Arc<Event>, discarded: Arc<Discarded>) {
        // The Alert may have gone since the event was accepted.
        let Some(alert) = self.parts.alerts.get(&target.into()) else { return };
        let provider_key = ObjectKey::new(target.namespace.clone(), alert.spec.provider_ref.name.clone());
        let turn = self.fairness.turn(&provider_key).await;
        let started = Instant::now();
        let attempt = match &turn {
            Some(_) => self.attempt(&alert, &provider_key, &event, discarded).await,
            None => Some(Attempt::refused(too_many(&provider_key))),
        };
        let Some(Attempt { provider_type, result }) = attempt else { return };
        let path = event.involved_object.path();
        let error = match result {
            Ok(()) => String::new(),
            Err(Failure::Dispatch(error)) => format!("failed to dispatch notification for {path}: {error}"),
            Err(Failure::Send(error)) => format!("failed to send notification for {path}: {error}"),
        };
        self.parts.metrics.delivered(&provider_type, error.is_empty(), started.elapsed());
        if !error.is_empty() {
            tracing::error!(alert = %ObjectKey::from(target), provider = %provider_key, error, "notification failed");
            self.parts.events.send(&*alert, EventDraft::error("NotificationDispatchFailed", error.clone()));
        }
        let delivered = Delivered { alert: target.into(), provider: provider_key.name, event, error };
        // Nobody may be watching.
        let _ = self.delivered.send(delivered);
    }

    /// Delivers once; returns none when there was nothing to deliver.
    async fn attempt(
        &self,
        alert: &Alert,
        provider_key: &ObjectKey,
        event: &Event,
        discarded: Arc<Discarded>,
    ) -> Option<Attempt> {
        if let Err(error) = guard::check_namespace(self.parts.policy, alert, event) {
            return Some(Attempt::refused(error));
        }
        let provider = match self.provider(provider_key).await {
            Ok(provider) => provider,
            Err(error) => return Some(Attempt::refused(error)),
        };
        let provider_type = provider.spec.type_.clone();
        match guard::judge(self.parts.policy, &provider, event) {
            Verdict::Deliver => {}
            Verdict::Skip => return None,
            Verdict::Drop(reason) => {
                discarded.add(reason, &ObjectKey::of(alert));
                return None;
            }
            Verdict::Refuse(error) => {
                return Some(Attempt { provider_type, ..Attempt::refused(error) });
            }
        }
        // The line about others does not wait for the end of this delivery.
        drop(discarded);
        let outgoing = self.outgoing(alert, event);
        let timeout = provider.spec.timeout.map_or(DEFAULT_TIMEOUT, weir_api::Duration::to_std);
        let result = self.send(alert, &provider, &outgoing, timeout).await;
        Some(Attempt { provider_type, result })
    }

    /// The event as it is sent: with the metadata of the Alert, without prefixes (NTF-33).
    fn outgoing(&self, alert: &Alert, event: &Event) -> Event {
        let summary = alert.spec.summary.as_deref().unwrap_or_default();
        let combined = metadata::combine(event, &alert.spec.event_metadata, summary);
        if !summary.is_empty() {
            tracing::warn!(alert = %ObjectKey::of(alert), "the alert uses the deprecated field spec.summary, use spec.eventMetadata");
        }
        if !combined.conflicts.is_empty() {
            self.tell_conflicts(alert, &combined.conflicts);
        }
        Event { metadata: combined.metadata, ..event.clone() }
    }

    fn tell_conflicts(&self, alert: &Alert, conflicts: &BTreeMap<String, String>) {
        let text = "metadata key conflicts detected (please refer to the Alert API docs and Flux RFC 0008 for more information)";
        tracing::info!(alert = %ObjectKey::of(alert), ?conflicts, "{text}");
        let draft = EventDraft::error("MetadataAppendFailed", text);
        self.parts
            .events
            .send(alert, conflicts.iter().fold(draft, |draft, (key, names)| draft.with(key, names)));
    }

    /// A Provider made a moment ago may not be in the cache yet: the API server has the last word.
    async fn provider(&self, key: &ObjectKey) -> Result<Arc<Provider>, String> {
        if let Some(provider) = self.parts.providers.get(key) {
            return Ok(provider);
        }
        let api: Api<Provider> = Api::namespaced(self.parts.client.clone(), &key.namespace);
        match api.get_opt(&key.name).await {
            Ok(Some(provider)) => Ok(Arc::new(provider)),
            Ok(None) => Err(format!(
                "failed to read provider: Provider.notification.toolkit.fluxcd.io {:?} not found",
                key.name
            )),
            Err(error) => Err(format!("failed to read provider: {}", reason(error))),
        }
    }

    async fn send(
        &self,
        alert: &Alert,
        provider: &Provider,
        event: &Event,
        timeout: Duration,
    ) -> Result<(), Failure> {
        let commit_status = commit_status(alert, provider, event).await.map_err(Failure::Dispatch)?;
        let name = provider.metadata.name.clone().unwrap_or_default();
        let context = |error: String| {
            Failure::Dispatch(format!("failed to initialize notifier for provider '{name}': {error}"))
        };
        let started = Instant::now();
        let mut resolved = resolve(&Secrets::new(self.parts.client.clone()), provider, commit_status)
            .await
            .map_err(|error| context(error.to_string()))?;
        if let Err(error) = log_in(&self.parts.logins, provider, &mut resolved, timeout).await {
            let error = format!("failed to initialize notifier: {error}");
            return Err(context(redact(&error, &resolved.secrets, MASK)));
        }
        let Resolved { settings, profile, secrets, .. } = resolved;
        let settings = Settings { alert: reference(alert), now: (self.parts.clock)(), ..settings };
        let masked = |error: String| redact(&error, &secrets, MASK);
        let uninitialized =
            |error: String| context(masked(format!("failed to initialize notifier: {error}")));
        let no_client = |error: &DeliveryError| context(masked(error.to_string()));
        let mut notifier = provider::build(&settings).map_err(|error| uninitialized(error.to_string()))?;
        // The time covers the login too.
        let left = || timeout.saturating_sub(started.elapsed());
        let answer = self.parts.sender.ask(&notifier.questions(), &profile, left()).await;
        let answer = answer.map_err(|error| match error {
            error @ DeliveryError::Client(_) => no_client(&error),
            error => uninitialized(error.to_string()),
        })?;
        notifier.answered(&answer);
        let delivery = notifier.render(event).map_err(|error| Failure::Send(error.to_string()))?;
        let sent = self.parts.sender.deliver(delivery, &profile, left()).await;
        sent.map_err(|error| match error {
            error @ DeliveryError::Client(_) => no_client(&error),
            error => Failure::Send(masked(error.to_string())),
        })
    }
}

fn reference(alert: &Alert) -> ObjectReference {
    let ObjectKey { namespace, name } = ObjectKey::of(alert);
    let uid = alert.metadata.uid.clone().unwrap_or_default();
    ObjectReference { namespace, name, uid, ..ObjectReference::default() }
}

fn too_many(provider: &ObjectKey) -> String {
    let name = &provider.name;
    format!("discarding event, {MAX_WAITING_PER_PROVIDER} notifications wait for provider '{name}' already")
}

/// The name of the commit status, for the types that have one (NTF-70, NTF-71).
async fn commit_status(alert: &Alert, provider: &Provider, event: &Event) -> Result<String, String> {
    let spec = &provider.spec;
    if !GIT_STATUS_TYPES.contains(&spec.type_.as_str()) {
        return Ok(String::new());
    }
    let object: &ObjectReference = &event.involved_object;
    let Some(text) = spec.commit_status_expr.clone().filter(|text| !text.is_empty()) else {
        return Ok(git::default_status(object, provider.metadata.uid.as_deref().unwrap_or_default()));
    };
    let failed = |error: String| {
        format!(
            "failed to create commit status: failed to evaluate the spec.commitStatusExpr CEL expression for the event: {error}"
        )
    };
    let values = [serde_json::to_value(event), serde_json::to_value(alert), serde_json::to_value(provider)];
    let [Ok(event), Ok(alert), Ok(provider)] = values else {
        return Err(failed("the objects are no JSON".to_owned()));
    };
    let evaluated = weir_evaluation::evaluated(move |may_go_on| {
        let expression = Expression::compile(&text, &["event", "alert", "provider"], Type::String)
            .map_err(|error| format!("failed to compile expression: {error}"))?;
        let variables = [("event", &event), ("alert", &alert), ("provider", &provider)];
        expression.to_text(&variables, may_go_on).map_err(|error| error.to_string())
    });
    evaluated.await.and_then(|name| name).map_err(failed)
}
