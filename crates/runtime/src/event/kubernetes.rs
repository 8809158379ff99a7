//! Kubernetes Events (core/v1), written by ourselves so that the stock `flux events` finds counts, times and annotations
//! (DEP-K8S-7).

mod flood;

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event as KubeEvent, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{Api, ObjectMeta, Patch, PatchParams, PostParams};
use moka::sync::Cache;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use self::flood::Flood;
use super::lanes::Lanes;
use super::outbox::{CAPACITY, Waiting};
use super::{Event, Severity};
use crate::client;
use crate::metrics::Lost;

/// Requests in flight. With two, one slow answer does not hold up the rest. More would compete with the requests of runs for
/// a busy API server; client-go writes one at a time.
const IN_FLIGHT: usize = 2;

/// Pause after a write, as a multiple of the time it took. Slow answers come from a busy API server, where runs and their statuses go
/// first. An idle one answers within milliseconds.
const YIELD: u32 = 4;

/// Longest pause: a server that is far away answers slowly without being busy.
const MAX_PAUSE: Duration = Duration::from_millis(100);

/// Events that may wait. With more of them there are no pauses: late is better than dropped.
const MAX_WAITING: usize = CAPACITY / 2;

/// Events remembered so that a repetition counts up instead of adding an object; client-go remembers as many.
const REMEMBERED: u64 = 4096;

/// Time in which a repetition counts up, as in client-go.
const REPEAT_WINDOW: Duration = Duration::from_secs(600);

/// An Event that was written: the moment in its name, and how often it has been seen.
#[derive(Debug, Clone, Copy)]
struct Written {
    nanosecond: i128,
    count: i32,
}

/// The Events that were written, by the hash of what makes two of them the same: the texts take more than a KiB each. The hash is
/// seeded at random, so that nobody can choose two Events with the same one.
#[derive(Clone)]
struct Memory {
    hasher: RandomState,
    written: Cache<u64, Written>,
}

impl Memory {
    fn new() -> Self {
        let written = Cache::builder().max_capacity(REMEMBERED).time_to_live(REPEAT_WINDOW).build();
        Self { hasher: RandomState::new(), written }
    }

    /// The key of an event. One that stands for others is the same with any message.
    fn key(&self, event: &Event, is_combined: bool) -> u64 {
        let involved = &event.involved_object;
        let place = (&involved.uid, &involved.namespace, &involved.name);
        let message = Some(&event.message).filter(|_| !is_combined);
        self.hasher.hash_one((place, &event.reason, message))
    }
}

pub(super) struct Recorder {
    client: kube::Client,
    memory: Memory,
    flood: Flood,
    lost: Lost,
}

impl Recorder {
    pub(super) fn new(client: kube::Client, lost: Lost) -> Self {
        Self { client, memory: Memory::new(), flood: Flood::new(), lost }
    }

    pub(super) async fn run(&self, mut events: Waiting, stop: CancellationToken) {
        let mut writes = Lanes::new(IN_FLIGHT);
        while let Some(event) = events.next(&stop).await {
            let uid = event.involved_object.uid.clone();
            writes.room_for(&uid).await;
            let (client, memory, lost) = (self.client.clone(), self.memory.clone(), self.lost.clone());
            let mut event = event;
            let is_combined = self.flood.combine(&mut event, Instant::now());
            if !self.flood.admits(&event, Instant::now()) {
                tracing::debug!(?event, "one Kubernetes event too many about an object");
                continue;
            }
            let (waiting, stop) = (events.len(), stop.clone());
            writes.start(uid, async move {
                let start = Instant::now();
                if !write(client, memory, event, is_combined).await {
                    lost.count();
                }
                #[expect(clippy::disallowed_methods, reason = "no run waits for events")]
                let pause = tokio::time::sleep(pause_after(start.elapsed(), waiting));
                stop.run_until_cancelled(pause).await;
            });
        }
        writes.all_ended().await;
    }
}

/// The pause after a write that took so long, while so many events wait.
fn pause_after(took: Duration, waiting: usize) -> Duration {
    if waiting < MAX_WAITING { (took * YIELD).min(MAX_PAUSE) } else { Duration::ZERO }
}

/// Writes an event, or counts up the one that says the same; returns false when the API server took neither. In a namespace that is
/// being deleted nobody misses it, and client-go drops it in silence, too.
async fn write(client: kube::Client, memory: Memory, event: Event, is_combined: bool) -> bool {
    let involved = &event.involved_object;
    let key = memory.key(&event, is_combined);
    let api: Api<KubeEvent> = Api::namespaced(client, &involved.namespace);
    if let Some(Written { nanosecond, count }) = memory.written.get(&key) {
        let name = event_name(&involved.name, nanosecond);
        let patch =
            json!({ "count": count + 1, "lastTimestamp": Time(event.timestamp), "message": event.message });
        if api.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await.is_ok() {
            memory.written.insert(key, Written { nanosecond, count: count + 1 });
            return true;
        }
    }
    let (kind, object) = (involved.kind.clone(), involved.name.clone());
    let (namespace, reason) = (involved.namespace.clone(), event.reason.clone());
    let nanosecond = Timestamp::now().as_nanosecond();
    match api.create(&PostParams::default(), &kube_event(event, nanosecond)).await {
        Ok(_) => {
            memory.written.insert(key, Written { nanosecond, count: 1 });
            true
        }
        Err(error) if is_in_deleted_namespace(&error) => true,
        Err(error) => {
            let error = client::reason(error);
            tracing::warn!(controllerKind = kind, namespace, name = object, reason, %error, "Kubernetes event not written");
            false
        }
    }
}

/// Nothing but its namespace can lack when an Event is made.
fn is_in_deleted_namespace(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else { return false };
    let mut causes = status.details.iter().flat_map(|details| &details.causes);
    status.code == 404 || causes.any(|cause| cause.reason == "NamespaceTerminating")
}

/// The name of an Event of an object, as client-go makes it.
fn event_name(object: &str, nanosecond: i128) -> String {
    format!("{object}.{nanosecond:x}")
}

fn kube_event(event: Event, nanosecond: i128) -> KubeEvent {
    let Event { involved_object: involved, timestamp, .. } = event;
    let name = event_name(&involved.name, nanosecond);
    let annotations = (!event.metadata.is_empty()).then_some(event.metadata);
    KubeEvent {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: Some(involved.namespace.clone()),
            annotations,
            ..ObjectMeta::default()
        },
        type_: Some(if event.severity == Severity::Error { "Warning" } else { "Normal" }.to_owned()),
        reason: Some(event.reason),
        message: Some(event.message),
        source: Some(EventSource { component: Some(event.reporting_controller.clone()), host: None }),
        reporting_component: Some(event.reporting_controller),
        reporting_instance: Some(event.reporting_instance),
        first_timestamp: Some(Time(timestamp)),
        last_timestamp: Some(Time(timestamp)),
        count: Some(1),
        involved_object: ObjectReference {
            api_version: Some(involved.api_version),
            kind: Some(involved.kind),
            name: Some(involved.name),
            namespace: Some(involved.namespace),
            uid: Some(involved.uid).filter(|uid| !uid.is_empty()),
            resource_version: Some(involved.resource_version).filter(|version| !version.is_empty()),
            ..ObjectReference::default()
        },
        ..KubeEvent::default()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::event::InvolvedObject;

    pub(super) fn event(uid: &str, reason: &str, message: &str) -> Event {
        Event {
            involved_object: InvolvedObject { uid: uid.to_owned(), ..InvolvedObject::default() },
            severity: Severity::Info,
            timestamp: Timestamp::UNIX_EPOCH,
            message: message.to_owned(),
            reason: reason.to_owned(),
            metadata: BTreeMap::new(),
            reporting_controller: String::new(),
            reporting_instance: String::new(),
        }
    }

    #[test]
    fn events_are_the_same_by_object_reason_and_message() {
        let memory = Memory::new();
        let key = |uid, reason, message| memory.key(&event(uid, reason, message), false);
        let first = key("1", "Failed", "no");
        assert_eq!(first, key("1", "Failed", "no"));
        assert_eq!(first, memory.clone().key(&event("1", "Failed", "no"), false), "each write has a copy");
        let combined = |message| memory.key(&event("1", "Failed", message), true);
        assert_eq!(combined("no"), combined("yes"));
        assert_ne!(first, combined("no"));
        for other in [key("2", "Failed", "no"), key("1", "Done", "no"), key("1", "Failed", "yes")] {
            assert_ne!(first, other);
        }
        assert_eq!(event_name("web", 255), "web.ff");
    }

    #[rstest::rstest]
    #[case::idle(3, 0, 12)]
    #[case::busy(20, MAX_WAITING - 1, 80)]
    #[case::far_away(500, 0, 100)]
    #[case::many_wait(20, MAX_WAITING, 0)]
    fn events_give_way(#[case] took: u64, #[case] waiting: usize, #[case] pause: u64) {
        assert_eq!(pause_after(Duration::from_millis(took), waiting), Duration::from_millis(pause));
    }
}
