//! The bounded outbox: a run hands its events over and goes on.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use weir_api::{EVENT_PREFIX, FluxObject};

use super::deliver::Delivery;
use super::kubernetes::Recorder;
use super::{Event, EventDraft, InvolvedObject, MAX_MESSAGE, Severity};
use crate::environment::hostname;
use crate::metrics::{Destination, Lost, Metrics, Payload};

/// Events waiting for one destination. At 1 KiB an event this bounds the memory to some MiB when the destination is
/// away; more events are dropped and logged, since reconciling matters more than notifying.
pub(super) const CAPACITY: usize = 4096;

/// An event as JSON: a burst lets thousands wait, and its parts take twice as much memory.
type Packed = Arc<[u8]>;

/// The sink of events, with the name of the reporter.
#[derive(Clone)]
pub struct EventSink {
    source: Arc<Source>,
    kubernetes: Entry,
    peer: Option<Entry>,
}

/// The way into the outbox for one destination.
#[derive(Clone)]
pub(super) struct Entry {
    queue: mpsc::Sender<Packed>,
    lost: Lost,
}

/// The events that wait for one destination.
pub(super) struct Waiting {
    queue: mpsc::Receiver<Packed>,
    lost: Lost,
}

struct Source {
    controller: String,
    instance: String,
}

/// The ways to the notification service. At least one is there; with both, HTTP stands in for gRPC.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Weir's gRPC API.
    pub grpc: Option<crate::grpc::PeerChannel>,
    /// Flux's contract: a JSON POST to this URL.
    pub http: Option<reqwest::Url>,
}

/// The receiving ends, to be run once by the service.
pub struct Outbox {
    recorder: Recorder,
    kubernetes: Waiting,
    peer: Option<(Delivery, Waiting)>,
}

impl EventSink {
    /// Makes a sink and its outbox for a controller such as `kustomize-controller`.
    ///
    /// # Errors
    ///
    /// When no HTTP client can be made, which only a broken machine shows.
    pub fn new(
        client: kube::Client,
        controller: &str,
        peer: Option<Peer>,
        metrics: &Metrics,
    ) -> Result<(Self, Outbox), reqwest::Error> {
        let (kubernetes, written) = Entry::new(metrics.lost_events(Destination::Kubernetes));
        let (to_peer, peer) = match peer {
            Some(peer) => {
                let (entry, sent) = Entry::new(metrics.lost_events(Destination::Notification));
                let delivery = Delivery::new(peer, metrics.routes(Payload::Event), entry.lost.clone())?;
                (Some(entry), Some((delivery, sent)))
            }
            None => (None, None),
        };
        let recorder = Recorder::new(client, kubernetes.lost.clone());
        let source = Source { controller: controller.to_owned(), instance: hostname() };
        let sink = Self { source: Arc::new(source), kubernetes, peer: to_peer };
        Ok((sink, Outbox { recorder, kubernetes: written, peer }))
    }

    /// Tells an event about an object. Never blocks; what does not fit into the outbox is dropped and logged.
    pub fn send<K: FluxObject>(&self, object: &K, draft: EventDraft) {
        let event = self.event(object, draft);
        // The types of an event serialize without fail.
        let packed = Packed::from(serde_json::to_vec(&event).unwrap_or_default());
        if event.severity != Severity::Trace
            && let Some(peer) = &self.peer
        {
            peer.take(&event, packed.clone());
        }
        self.kubernetes.take(&event, packed);
    }

    fn event<K: FluxObject>(&self, object: &K, draft: EventDraft) -> Event {
        let meta = object.meta();
        let involved_object = InvolvedObject {
            kind: K::KIND.to_owned(),
            namespace: meta.namespace.clone().unwrap_or_default(),
            name: meta.name.clone().unwrap_or_default(),
            uid: meta.uid.clone().unwrap_or_default(),
            api_version: format!("{}/{}", K::GROUP, K::VERSION),
            resource_version: meta.resource_version.clone().unwrap_or_default(),
        };
        let annotations = meta.annotations.iter().flatten();
        let copied = annotations.filter(|(key, _)| key.starts_with(EVENT_PREFIX));
        let mut metadata: BTreeMap<_, _> = copied.map(|(key, value)| (key.clone(), value.clone())).collect();
        metadata.extend(draft.metadata);
        Event {
            involved_object,
            severity: draft.severity,
            timestamp: Timestamp::now(),
            message: truncated(draft.message),
            reason: draft.reason,
            metadata,
            reporting_controller: self.source.controller.clone(),
            reporting_instance: self.source.instance.clone(),
        }
    }
}

impl Entry {
    pub(super) fn new(lost: Lost) -> (Self, Waiting) {
        let (queue, waiting) = mpsc::channel(CAPACITY);
        (Self { queue, lost: lost.clone() }, Waiting { queue: waiting, lost })
    }

    pub(super) fn take(&self, event: &Event, packed: Packed) {
        if self.queue.try_send(packed).is_ok() {
            return;
        }
        self.lost.count();
        let InvolvedObject { kind, namespace, name, .. } = &event.involved_object;
        tracing::warn!(
            controllerKind = kind,
            namespace,
            name,
            reason = event.reason,
            destination = self.lost.destination(),
            "event dropped: the outbox is full"
        );
    }
}

impl Outbox {
    /// Delivers until `stop`, and then what is queued, until a destination does not take it at
    /// once.
    pub async fn run(self, stop: CancellationToken) {
        let Self { recorder, kubernetes, peer } = self;
        let to_peer = async {
            if let Some((delivery, events)) = peer {
                Arc::new(delivery).run(events, stop.clone()).await;
            }
        };
        tokio::join!(recorder.run(kubernetes, stop.clone()), to_peer);
    }
}

impl Waiting {
    /// Returns the next event; nothing at the end of the queue, or once `stop` is told and no event is left.
    pub(super) async fn next(&mut self, stop: &CancellationToken) -> Option<Event> {
        loop {
            let packed = tokio::select! {
                biased;
                packed = self.queue.recv() => packed?,
                () = stop.cancelled(), if self.queue.is_empty() => return None,
            };
            match serde_json::from_slice(&packed) {
                Ok(event) => return Some(event),
                Err(error) => {
                    self.lost.count();
                    tracing::error!(%error, destination = self.lost.destination(), "event dropped: it is not as it was packed");
                }
            }
        }
    }

    /// Number of events.
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }
}

fn truncated(mut message: String) -> String {
    const ELLIPSIS: &str = "...";
    if message.len() > MAX_MESSAGE {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE - ELLIPSIS.len()));
        message.push_str(ELLIPSIS);
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(message: &str) -> Event {
        Event {
            involved_object: InvolvedObject { name: "apps".to_owned(), ..InvolvedObject::default() },
            severity: Severity::Info,
            timestamp: Timestamp::from_nanosecond(1_700_000_000_123_456_789).unwrap(),
            message: message.to_owned(),
            reason: "Done".to_owned(),
            metadata: BTreeMap::from([("g/revision".to_owned(), "main@sha1:1".to_owned())]),
            reporting_controller: "c".to_owned(),
            reporting_instance: String::new(),
        }
    }

    fn packed(event: &Event) -> Packed {
        serde_json::to_vec(event).unwrap().into()
    }

    /// A stop does not take away what waits; what is no event is counted as lost.
    #[tokio::test]
    async fn events_come_out_as_they_were_put_in() {
        let metrics = Metrics::default();
        let (entry, mut waiting) = Entry::new(metrics.lost_events(Destination::Kubernetes));
        let events = ["a \"b\"\nü", ""].map(event);
        entry.take(&events[0], packed(&events[0]));
        entry.take(&events[1], Packed::from(*b"{}"));
        entry.take(&events[1], packed(&events[1]));
        let stop = CancellationToken::new();
        stop.cancel();
        for event in &events {
            assert_eq!(waiting.next(&stop).await.as_ref(), Some(event));
        }
        assert_eq!(waiting.next(&stop).await, None);
        let counted = metrics.encode().unwrap();
        assert!(counted.contains("weir_events_lost_total{destination=\"kubernetes\"} 1\n"), "{counted}");
    }
}
