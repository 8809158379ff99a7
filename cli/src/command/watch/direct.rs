//! The changes as the API server tells them, for users whom the services do not know, and for services without a gRPC API.

use std::collections::VecDeque;

use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt};
use kube::ResourceExt;
use kube::api::DynamicObject;
use kube::runtime::watcher::Event;
use weir_proto::status::v1::{ChangeType, Condition, ObjectStatus, WatchResponse};

use super::mirror::Mirror;
use super::outage::Outage;
use crate::cluster::{Cluster, Selection};
use crate::error::Error;
use crate::kind::{Kind, first_of, is_suspended, ready, reason};

/// The fields in which the kinds have their revision.
const REVISIONS: [&str; 7] = [
    "/status/artifact/revision",
    "/status/lastAppliedRevision",
    "/status/lastScanResult/revision",
    "/status/latestRef/tag",
    "/status/observedSourceRevision",
    "/status/observedSourcesDigest",
    "/status/webhookPath",
];

/// The changes of a kind's objects. The first answer must come before the cluster's deadline; a watch that breaks off later
/// is taken up again.
pub(super) fn changes(
    cluster: Cluster,
    kind: &'static Kind,
    selection: &Selection,
    outage: Outage,
) -> impl Stream<Item = Result<WatchResponse, Error>> + use<> {
    let events = cluster.events(kind, selection);
    let (mirror, ready) = (Mirror::default(), VecDeque::new());
    let state = State { cluster, kind, events, mirror, ready, synced: false, outage };
    stream::try_unfold(state, |mut state| async { Ok(Some((state.next().await?, state))) })
}

struct State {
    cluster: Cluster,
    kind: &'static Kind,
    events: BoxStream<'static, Result<Event<DynamicObject>, Error>>,
    mirror: Mirror,
    /// Changes that have been taken in and not yet passed on.
    ready: VecDeque<WatchResponse>,
    /// True once all that was there at the start has come.
    synced: bool,
    outage: Outage,
}

/// The server, as warnings name it.
const SERVER: &str = "the API server";

impl State {
    async fn next(&mut self) -> Result<WatchResponse, Error> {
        loop {
            if let Some(change) = self.ready.pop_front() {
                return Ok(change);
            }
            let event = self.events.next();
            let event = if self.synced { event.await } else { self.cluster.in_time(event).await? };
            match event {
                Some(Ok(event)) => {
                    // A list begins with an event before anything is asked.
                    if !matches!(event, Event::Init) {
                        self.outage.works(SERVER);
                    }
                    self.take(event);
                }
                Some(Err(error)) if !self.synced => return Err(error),
                // It is watched again.
                Some(Err(error)) => self.outage.failed(SERVER, &error.to_string()),
                None => return Err(Error::Api("the API server has ended the watch".to_owned())),
            }
        }
    }

    fn take(&mut self, event: Event<DynamicObject>) {
        let (type_, object) = match event {
            Event::Init => return self.mirror.begin_anew(),
            Event::InitApply(object) | Event::Apply(object) => (ChangeType::Applied, Some(object)),
            Event::Delete(object) => (ChangeType::Deleted, Some(object)),
            Event::InitDone => {
                self.synced = true;
                (ChangeType::Synced, None)
            }
        };
        let object = object.map(|object| status_of(self.kind, &object));
        let change = WatchResponse { r#type: type_.into(), object, resource_version: String::new() };
        self.ready.extend(self.mirror.take(change));
    }
}

/// Returns what the services say of an object, as far as it is shown.
fn status_of(kind: &Kind, object: &DynamicObject) -> ObjectStatus {
    let ready = ready(object).map(|(status, message)| Condition {
        r#type: "Ready".to_owned(),
        status: status.to_owned(),
        reason: reason(object, "Ready").unwrap_or_default().to_owned(),
        message: message.to_owned(),
        ..Condition::default()
    });
    ObjectStatus {
        kind: kind.name.to_owned(),
        namespace: object.namespace().unwrap_or_default(),
        name: object.name_any(),
        generation: object.metadata.generation.unwrap_or_default(),
        suspended: is_suspended(object),
        revision: first_of(object, &REVISIONS),
        conditions: ready.into_iter().collect(),
        resource_version: object.resource_version().unwrap_or_default(),
        ..ObjectStatus::default()
    }
}
