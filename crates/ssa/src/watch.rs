//! One watch for each kind that is applied, of the objects that carry an owner's label. It feeds the ledger.

use std::collections::HashSet;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures::{Stream, StreamExt, stream};
use kube::Client;
use kube::api::{Api, ObjectMeta};
use kube::runtime::WatchStreamExt;
use kube::runtime::utils::Backoff;
use kube::runtime::watcher::{self, DefaultBackoff, Event, watcher};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::error::status;
use crate::ledger::{Depth, Missed};
use crate::request::Target;
use crate::sight::Sight;
use crate::{GroupKind, Ledger, Mapping, ObjectId};

/// Watches held at once; one is a connection. Objects of further kinds are checked by requests as if there were none.
const MAX_WATCHES: usize = 96;

/// Objects a page of a first list, so that a large cluster is not held in memory to be looked through.
const PAGE: u32 = 200;

/// Missed objects of a cluster that are looked for at once.
const LOOKS_AT_ONCE: usize = 4;

/// How long a kind that may not be watched is left alone.
const REFUSED: Duration = Duration::from_secs(300);

/// Kinds whose health does not depend on a status that changes: their metadata is enough, and Secrets are not read.
const METADATA_ONLY: [(&str, &str); 19] = [
    ("", "ConfigMap"),
    ("", "LimitRange"),
    ("", "Secret"),
    ("", "Service"),
    ("", "ServiceAccount"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("batch", "CronJob"),
    ("networking.k8s.io", "Ingress"),
    ("networking.k8s.io", "IngressClass"),
    ("networking.k8s.io", "NetworkPolicy"),
    ("node.k8s.io", "RuntimeClass"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io", "Role"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("storage.k8s.io", "StorageClass"),
];

/// The watches of one cluster.
#[derive(Clone)]
pub struct Watches(Arc<Inner>);

struct Inner {
    client: Client,
    ledger: Arc<Ledger>,
    /// Label that every owned object has.
    label: String,
    /// Kinds that are watched, and those that may not be until a time.
    kinds: Mutex<std::collections::HashMap<GroupKind, Option<Instant>>>,
    /// True when a kind was left out, which is told once.
    is_full: AtomicBool,
    looks: Semaphore,
    tasks: TaskTracker,
    shutdown: CancellationToken,
}

impl Watches {
    /// Returns the watches of the objects that carry `label`, made as `client`, until `shutdown`.
    pub fn new(client: Client, ledger: Arc<Ledger>, label: String, shutdown: CancellationToken) -> Self {
        let (kinds, is_full, tasks) = (Mutex::default(), AtomicBool::default(), TaskTracker::new());
        let looks = Semaphore::new(LOOKS_AT_ONCE);
        Self(Arc::new(Inner { client, ledger, label, kinds, is_full, looks, tasks, shutdown }))
    }

    /// Waits until all watches have ended after shutdown.
    pub async fn stopped(&self) {
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// Sees to it that a kind is watched.
    pub(crate) fn ensure(&self, mapping: &Mapping) {
        let kind = GroupKind { group: mapping.resource.group.clone(), kind: mapping.resource.kind.clone() };
        let mut kinds = self.0.kinds.lock();
        match kinds.get(&kind) {
            Some(None) => return,
            Some(Some(until)) if *until > Instant::now() => return,
            _ => {}
        }
        if kinds.values().filter(|refused| refused.is_none()).count() >= MAX_WATCHES {
            if !self.0.is_full.swap(true, Ordering::Relaxed) {
                let kind = &kind.kind;
                tracing::warn!(
                    at_most = MAX_WATCHES,
                    kind,
                    "objects of further kinds are asked for instead of watched"
                );
            }
            return;
        }
        kinds.insert(kind.clone(), None);
        drop(kinds);
        let (inner, mapping) = (Arc::clone(&self.0), mapping.clone());
        self.0.tasks.spawn(async move {
            let watching = inner.watch(&kind, &mapping);
            inner.shutdown.run_until_cancelled(watching).await;
            inner.ledger.unwatched(&kind);
            inner.kinds.lock().insert(kind, Some(Instant::now() + REFUSED));
        });
    }
}

impl Inner {
    /// Ends when the server refuses the kind for good.
    async fn watch(self: &Arc<Self>, kind: &GroupKind, mapping: &Mapping) {
        let config = watcher::Config::default().labels(&self.label).page_size(PAGE);
        let is_metadata = METADATA_ONLY.contains(&(kind.group.as_str(), kind.kind.as_str()));
        match is_metadata {
            true => self.watch_as::<true>(kind, mapping, config).await,
            false => self.watch_as::<false>(kind, mapping, config).await,
        }
    }

    async fn watch_as<const IS_METADATA: bool>(
        self: &Arc<Self>,
        kind: &GroupKind,
        mapping: &Mapping,
        config: watcher::Config,
    ) {
        let api = Api::<Sight<IS_METADATA>>::all_with(self.client.clone(), &mapping.resource);
        self.follow(kind, mapping, anew(|| watcher(api.clone(), config.clone()))).await;
    }

    async fn follow<const IS_METADATA: bool>(
        self: &Arc<Self>,
        kind: &GroupKind,
        mapping: &Mapping,
        events: impl Stream<Item = watcher::Result<Event<Sight<IS_METADATA>>>>,
    ) {
        let depth = if IS_METADATA { Depth::Metadata } else { Depth::Whole };
        let mut events = pin!(events);
        let mut present = HashSet::new();
        let mut began = Instant::now();
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => {
                    present.clear();
                    began = Instant::now();
                }
                Ok(Event::InitApply(mut object)) => {
                    let id = id_of(kind, &object.meta);
                    self.ledger.saw(&id, &mut object);
                    present.insert(id);
                }
                Ok(Event::InitDone) => {
                    let missed = self.ledger.listed(kind, depth, &std::mem::take(&mut present), began);
                    missed.into_iter().for_each(|missed| self.look_for(missed, mapping));
                }
                Ok(Event::Apply(mut object)) => {
                    self.ledger.saw(&id_of(kind, &object.meta), &mut object);
                }
                Ok(Event::Delete(object)) => {
                    let missed = self.ledger.lost(&id_of(kind, &object.meta), Some(&object.meta));
                    missed.into_iter().for_each(|missed| self.look_for(missed, mapping));
                }
                Err(error) => {
                    self.ledger.unwatched(kind);
                    if is_refusal(&error) {
                        tracing::info!(kind = kind.kind, group = kind.group, %error, "kind cannot be watched: its objects are asked for");
                        return;
                    }
                }
            }
        }
    }

    /// Finds out, beside the watch, if a missed object is gone or has only lost the label by which the watch sees it.
    fn look_for(self: &Arc<Self>, missed: Missed, mapping: &Mapping) {
        let (inner, mapping) = (Arc::clone(self), mapping.clone());
        self.tasks.spawn(async move {
            let looking = inner.is_unlabelled(&missed, &mapping);
            match inner.shutdown.run_until_cancelled(looking).await {
                Some(true) => inner.ledger.release_lost(&missed.id),
                Some(false) => inner.ledger.missed(&missed.id),
                None => {}
            }
        });
    }

    /// Returns true for an object that is there without the label. One that cannot be read counts as gone.
    async fn is_unlabelled(&self, missed: &Missed, mapping: &Mapping) -> bool {
        let Ok(_turn) = self.looks.acquire().await else { return false };
        let target = Target { client: &self.client, mapping, id: &missed.id };
        let Ok(Some(found)) = target.metadata().await else { return false };
        let meta = found.metadata;
        let has_label = meta.labels.is_some_and(|labels| labels.contains_key(&self.label));
        meta.uid.as_ref() == Some(&missed.uid) && meta.deletion_timestamp.is_none() && !has_label
    }
}

/// The events of a watch that lists anew after each error. A watcher by itself goes on where it was, and says so by nothing: nobody
/// would know from when on its silence proves something again.
fn anew<K, W>(watch: impl Fn() -> W) -> impl Stream<Item = watcher::Result<Event<K>>>
where
    W: Stream<Item = watcher::Result<Event<K>>>,
{
    let events = stream::unfold(None::<Pin<Box<W>>>, move |running| {
        let mut running = running.unwrap_or_else(|| Box::pin(watch()));
        async move {
            let event = running.next().await?;
            let goes_on = event.is_ok();
            Some((event, goes_on.then_some(running)))
        }
    });
    events.backoff(Pauses::default())
}

/// Pauses after errors. They start over after two minutes without any, and not with the first event: each attempt begins with one.
#[derive(Default)]
struct Pauses(DefaultBackoff);

impl Iterator for Pauses {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.0.next()
    }
}

impl Backoff for Pauses {
    fn reset(&mut self) {}
}

fn id_of(kind: &GroupKind, meta: &ObjectMeta) -> ObjectId {
    ObjectId {
        namespace: meta.namespace.clone().unwrap_or_default(),
        name: meta.name.clone().unwrap_or_default(),
        group: kind.group.clone(),
        kind: kind.kind.clone(),
    }
}

fn is_refusal(error: &watcher::Error) -> bool {
    let code = match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => status(error).map(|status| status.code),
        watcher::Error::WatchError(status) => Some(status.code),
        watcher::Error::NoResourceVersion => None,
    };
    matches!(code, Some(403..=405))
}
