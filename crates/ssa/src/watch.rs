//! One watch for each kind that is applied, of the objects that carry an owner's label. It feeds the ledger.

use std::collections::{HashMap, HashSet};
use std::pin::{Pin, pin};
use std::sync::Arc;
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

/// Code of the answer about a kind that is gone.
const NOT_FOUND: u16 = 404;

/// Time after which a watch that was refused is asked for again.
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

/// The way in which changes of a kind's objects are seen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// By a watch.
    Watch,
    /// By requests, because the API server refuses the watch. It is asked again after this time.
    RequestsUntil(Instant),
    /// By requests, because there are as many watches as there may be.
    Requests,
}

struct Inner {
    client: Client,
    ledger: Arc<Ledger>,
    /// Label that every owned object has.
    label: String,
    /// The kinds of applied objects.
    kinds: Mutex<HashMap<GroupKind, Way>>,
    looks: Semaphore,
    tasks: TaskTracker,
    shutdown: CancellationToken,
}

impl Watches {
    /// Returns the watches of the objects that carry `label`, made as `client`, until `shutdown`.
    pub fn new(client: Client, ledger: Arc<Ledger>, label: String, shutdown: CancellationToken) -> Self {
        let (kinds, tasks) = (Mutex::default(), TaskTracker::new());
        let looks = Semaphore::new(LOOKS_AT_ONCE);
        Self(Arc::new(Inner { client, ledger, label, kinds, looks, tasks, shutdown }))
    }

    /// Returns the number of kinds whose objects are not watched: each run asks for them.
    pub fn unwatched(&self) -> usize {
        self.0.kinds.lock().values().filter(|way| **way != Way::Watch).count()
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
            Some(Way::Watch) => return,
            Some(Way::RequestsUntil(time)) if *time > Instant::now() => return,
            _ => {}
        }
        if kinds.values().filter(|way| **way == Way::Watch).count() >= MAX_WATCHES {
            if !kinds.values().any(|way| *way == Way::Requests) {
                let kind = &kind.kind;
                tracing::warn!(
                    at_most = MAX_WATCHES,
                    kind,
                    "objects of further kinds are asked for instead of watched"
                );
            }
            kinds.insert(kind, Way::Requests);
            return;
        }
        kinds.insert(kind.clone(), Way::Watch);
        drop(kinds);
        let (inner, mapping) = (Arc::clone(&self.0), mapping.clone());
        self.0.tasks.spawn(async move {
            let watching = inner.watch(&kind, &mapping);
            let code = inner.shutdown.run_until_cancelled(watching).await;
            inner.ledger.unwatched(&kind);
            let mut kinds = inner.kinds.lock();
            if code == Some(Some(NOT_FOUND)) {
                kinds.remove(&kind);
            } else {
                kinds.insert(kind, Way::RequestsUntil(Instant::now() + REFUSED));
            }
        });
    }
}

impl Inner {
    /// Ends when the server refuses the kind for good, with the code of its answer.
    async fn watch(self: &Arc<Self>, kind: &GroupKind, mapping: &Mapping) -> Option<u16> {
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
    ) -> Option<u16> {
        let api = Api::<Sight<IS_METADATA>>::all_with(self.client.clone(), &mapping.resource);
        self.follow(kind, mapping, anew(|| watcher(api.clone(), config.clone()))).await
    }

    async fn follow<const IS_METADATA: bool>(
        self: &Arc<Self>,
        kind: &GroupKind,
        mapping: &Mapping,
        events: impl Stream<Item = watcher::Result<Event<Sight<IS_METADATA>>>>,
    ) -> Option<u16> {
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
                    if let Some(code) = refusal(&error) {
                        tracing::info!(kind = kind.kind, group = kind.group, %error, "kind cannot be watched: its objects are asked for");
                        return Some(code);
                    }
                }
            }
        }
        None
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

/// Returns the code of an answer that refuses a watch for good.
fn refusal(error: &watcher::Error) -> Option<u16> {
    let code = match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => status(error).map(|status| status.code),
        watcher::Error::WatchError(status) => Some(status.code),
        watcher::Error::NoResourceVersion => None,
    };
    code.filter(|code| (403..=405).contains(code))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::pending;

    use kube::client::Body;
    use kube::core::{ApiResource, GroupVersionKind};

    use super::*;

    #[tokio::test]
    async fn kinds_beyond_the_most_watches_count_as_unwatched() {
        let silent = |_: http::Request<Body>| pending::<Result<http::Response<Body>, Infallible>>();
        let client = Client::new(tower::service_fn(silent), "default");
        let ledger = Arc::new(Ledger::new("kustomize-controller", &[], |_, _, _| {}));
        let shutdown = CancellationToken::new();
        let watches = Watches::new(client, ledger, "example.com/name".to_owned(), shutdown.clone());
        for number in 0..MAX_WATCHES + 2 {
            assert_eq!(watches.unwatched(), number.saturating_sub(MAX_WATCHES));
            let kind = GroupVersionKind::gvk("example.com", "v1", &format!("Kind{number}"));
            let mapping = Mapping { resource: ApiResource::from_gvk(&kind), is_namespaced: true };
            watches.ensure(&mapping);
            watches.ensure(&mapping);
        }
        assert_eq!(watches.unwatched(), 2);
        shutdown.cancel();
        watches.stopped().await;
    }

    #[rstest::rstest]
    #[case::refused(403, 1)]
    #[case::gone(404, 0)]
    #[tokio::test]
    async fn a_kind_that_is_gone_does_not_count(#[case] code: u16, #[case] expected: usize) {
        let answer = move |_: http::Request<Body>| async move {
            let status = format!(r#"{{"kind":"Status","status":"Failure","code":{code}}}"#);
            Ok::<_, Infallible>(
                http::Response::builder().status(code).body(Body::from(status.into_bytes())).unwrap(),
            )
        };
        let client = Client::new(tower::service_fn(answer), "default");
        let ledger = Arc::new(Ledger::new("kustomize-controller", &[], |_, _, _| {}));
        let watches = Watches::new(client, ledger, "example.com/name".to_owned(), CancellationToken::new());
        let kind = GroupVersionKind::gvk("example.com", "v1", "Gone");
        watches.ensure(&Mapping { resource: ApiResource::from_gvk(&kind), is_namespaced: true });
        watches.stopped().await;
        assert_eq!(watches.unwatched(), expected);
    }
}
