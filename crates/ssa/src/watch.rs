//! One watch for each kind that is applied, of the objects that carry an owner's label, or one for each namespace while that of all is
//! refused (KS-IMP-7). They feed the ledger.

use std::collections::{HashMap, HashSet};
use std::pin::{Pin, pin};
use std::sync::{Arc, Once};
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
use crate::live_object::LiveObject;
use crate::request::Target;
use crate::stage::Scope;
use crate::{GroupKind, Ledger, Mapping, ObjectId};

/// Watches held at once; one is a connection. Objects of further kinds are checked by requests as if there were none. A kind that is
/// watched by its namespaces may always go back to one watch.
const MAX_WATCHES: usize = 96;

/// Objects a page of a first list, so that a large cluster is not held in memory to be looked through.
const PAGE: u32 = 200;

/// Missed objects of a cluster that are looked for at once.
const LOOKS_AT_ONCE: usize = 4;

/// Kinds and their namespaces for which it is remembered if they are watched. The objects in further namespaces are checked by requests.
const MAX_SCOPES: usize = 1_000;

/// Code of the answer to an identity that may not watch a kind everywhere.
const FORBIDDEN: u16 = 403;

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

/// The way in which changes of objects are seen.
enum Way {
    /// By a watch, until this token ends it.
    Watch(CancellationToken),
    /// By a watch of each namespace, because the API server refuses that of all, which is asked for again and again meanwhile.
    Namespaces {
        /// False when some namespaces are not watched, because there are as many watches as there may be.
        is_complete: bool,
    },
    /// By requests, because the API server refuses the watch. It is asked again after this time.
    RequestsUntil(Instant),
    /// By requests, because there are as many watches as there may be.
    Requests,
}

impl Way {
    fn is_watch(&self) -> bool {
        matches!(self, Self::Watch(_))
    }

    /// Returns true when each run asks for some of the objects.
    fn has_requests(&self) -> bool {
        matches!(self, Self::RequestsUntil(_) | Self::Requests | Self::Namespaces { is_complete: false })
    }
}

struct Inner {
    client: Client,
    ledger: Arc<Ledger>,
    /// Label that every owned object has.
    label: String,
    /// The kinds of applied objects, and their namespaces where each has its own watch.
    ways: Mutex<HashMap<Scope, Way>>,
    /// Done once it was told that there are as many watches as there may be.
    full: Once,
    looks: Semaphore,
    tasks: TaskTracker,
    shutdown: CancellationToken,
}

impl Watches {
    /// Returns the watches of the objects that carry `label`, made as `client`, until `shutdown`.
    pub fn new(client: Client, ledger: Arc<Ledger>, label: String, shutdown: CancellationToken) -> Self {
        let (ways, full, tasks) = (Mutex::default(), Once::new(), TaskTracker::new());
        let looks = Semaphore::new(LOOKS_AT_ONCE);
        Self(Arc::new(Inner { client, ledger, label, ways, full, looks, tasks, shutdown }))
    }

    /// Returns the number of kinds whose objects are not watched, or not in all of their namespaces: each run asks for them.
    pub fn unwatched(&self) -> usize {
        let ways = self.0.ways.lock();
        let unwatched = ways.iter().filter(|(_, way)| way.has_requests());
        unwatched.map(|(scope, _)| &scope.kind).collect::<HashSet<_>>().len()
    }

    /// Waits until all watches have ended after shutdown.
    pub async fn stopped(&self) {
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// Sees to it that an object of a kind is watched.
    pub(crate) fn ensure(&self, mapping: &Mapping, namespace: &str) {
        let kind = GroupKind { group: mapping.resource.group.clone(), kind: mapping.resource.kind.clone() };
        let Some((scope, end)) = self.0.begin(kind, namespace) else { return };
        let (watches, mapping) = (self.clone(), mapping.clone());
        self.0.tasks.spawn(async move { watches.run(&scope, &mapping, &end).await });
    }

    /// Watches objects of a kind until the API server refuses that for good. When it forbids the watch of all namespaces, each namespace is
    /// watched by itself. The watch of all is asked for again from time to time: a server that starts forbids what it admits later, and an
    /// identity may get more rights.
    async fn run(&self, scope: &Scope, mapping: &Mapping, end: &CancellationToken) {
        let inner = &self.0;
        loop {
            let ended = end.run_until_cancelled(inner.watch(scope, mapping)).await;
            inner.ledger.unwatched(scope);
            let Some(error) = ended.flatten() else { return };
            let code = refusal(&error);
            let (kind, group, namespace) = (&scope.kind.kind, &scope.kind.group, scope.namespace.as_deref());
            if code != Some(FORBIDDEN) || namespace.is_some() || !mapping.is_namespaced {
                tracing::info!(kind, group, namespace, %error, "kind cannot be watched: its objects are asked for");
                return inner.refuse(scope, code);
            }
            tracing::debug!(kind, group, %error, "kind cannot be watched as a whole: its namespaces are watched");
            let namespaces = inner.ledger.namespaces_of(&scope.kind);
            inner.split(scope, &namespaces);
            namespaces.iter().for_each(|namespace| self.ensure(mapping, namespace));
            #[expect(clippy::disallowed_methods, reason = "a watch is no run")]
            let pause = tokio::time::sleep(REFUSED);
            if end.run_until_cancelled(pause).await.is_none() {
                return;
            }
        }
    }
}

impl Inner {
    /// Returns what is to be watched from now on for objects of a kind in a namespace, and the token that ends it; nothing where it is
    /// watched, or cannot be.
    fn begin(&self, kind: GroupKind, namespace: &str) -> Option<(Scope, CancellationToken)> {
        let now = Instant::now();
        let mut scope = Scope::everywhere(kind);
        let mut ways = self.ways.lock();
        let is_split = matches!(ways.get(&scope), Some(Way::Namespaces { .. }));
        scope.namespace = is_split.then(|| namespace.to_owned());
        match ways.get(&scope) {
            Some(Way::Watch(_)) => return None,
            Some(Way::RequestsUntil(time)) if *time > now => return None,
            _ => {}
        }
        if is_full(&ways) || (is_split && ways.len() >= MAX_SCOPES) {
            self.tell_full(&scope.kind);
            let way = if is_split { Way::Namespaces { is_complete: false } } else { Way::Requests };
            ways.insert(Scope::everywhere(scope.kind), way);
            return None;
        }
        let end = self.shutdown.child_token();
        ways.insert(scope.clone(), Way::Watch(end.clone()));
        Some((scope, end))
    }

    /// Remembers that the API server has refused a watch. A kind that may not be watched at all needs no watches of its namespaces.
    fn refuse(&self, scope: &Scope, code: Option<u16>) {
        let mut ways = self.ways.lock();
        if scope.namespace.is_none() {
            keep_namespaces(&mut ways, &scope.kind, |_| false);
        }
        match code {
            Some(NOT_FOUND) => ways.remove(scope),
            _ => ways.insert(scope.clone(), Way::RequestsUntil(Instant::now() + REFUSED)),
        };
    }

    /// Remembers that a kind may only be watched in its namespaces, and ends the watches of those in which no object is recorded any more.
    fn split(&self, all: &Scope, recorded: &HashSet<String>) {
        let mut ways = self.ways.lock();
        keep_namespaces(&mut ways, &all.kind, |namespace| recorded.contains(namespace));
        ways.insert(all.clone(), Way::Namespaces { is_complete: true });
    }

    /// Ends the watches of a kind's namespaces once that of all has listed, so that its objects are watched all the time. Returns false
    /// where it had none, and there are as many watches as there may be: after a refusal of many kinds, all of them come back.
    fn unite(&self, scope: &Scope) -> bool {
        let mut ways = self.ways.lock();
        if !matches!(ways.get(scope), Some(Way::Namespaces { .. })) {
            return true;
        }
        keep_namespaces(&mut ways, &scope.kind, |_| false);
        let has_room = !is_full(&ways);
        let way = if has_room { Way::Watch(self.shutdown.child_token()) } else { Way::Requests };
        ways.insert(scope.clone(), way);
        if !has_room {
            self.tell_full(&scope.kind);
        }
        has_room
    }

    /// Tells once that there are as many watches as there may be.
    fn tell_full(&self, kind: &GroupKind) {
        let kind = &kind.kind;
        let tell = || tracing::warn!(at_most = MAX_WATCHES, kind, "objects are asked for instead of watched");
        self.full.call_once(tell);
    }

    /// Ends when the server refuses the kind for good, with its answer, or when there are too many watches.
    async fn watch(self: &Arc<Self>, scope: &Scope, mapping: &Mapping) -> Option<watcher::Error> {
        let config = watcher::Config::default().labels(&self.label).page_size(PAGE);
        let is_metadata = METADATA_ONLY.contains(&(scope.kind.group.as_str(), scope.kind.kind.as_str()));
        match is_metadata {
            true => self.watch_as::<true>(scope, mapping, config).await,
            false => self.watch_as::<false>(scope, mapping, config).await,
        }
    }

    async fn watch_as<const IS_METADATA: bool>(
        self: &Arc<Self>,
        scope: &Scope,
        mapping: &Mapping,
        config: watcher::Config,
    ) -> Option<watcher::Error> {
        let (client, resource) = (self.client.clone(), &mapping.resource);
        let api: Api<LiveObject<IS_METADATA>> = match &scope.namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, resource),
            None => Api::all_with(client, resource),
        };
        self.follow(scope, mapping, anew(|| watcher(api.clone(), config.clone()))).await
    }

    async fn follow<const IS_METADATA: bool>(
        self: &Arc<Self>,
        scope: &Scope,
        mapping: &Mapping,
        events: impl Stream<Item = watcher::Result<Event<LiveObject<IS_METADATA>>>>,
    ) -> Option<watcher::Error> {
        let kind = &scope.kind;
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
                    let missed = self.ledger.listed(scope, depth, &std::mem::take(&mut present), began);
                    missed.into_iter().for_each(|missed| self.look_for(missed, mapping));
                    if !self.unite(scope) {
                        return None;
                    }
                }
                Ok(Event::Apply(mut object)) => {
                    self.ledger.saw(&id_of(kind, &object.meta), &mut object);
                }
                Ok(Event::Delete(object)) => {
                    let missed = self.ledger.lost(&id_of(kind, &object.meta), Some(&object.meta));
                    missed.into_iter().for_each(|missed| self.look_for(missed, mapping));
                }
                Err(error) => {
                    self.ledger.unwatched(scope);
                    if refusal(&error).is_some() {
                        return Some(error);
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

fn is_full(ways: &HashMap<Scope, Way>) -> bool {
    ways.values().filter(|way| way.is_watch()).count() >= MAX_WATCHES
}

/// Ends the watches of a kind's namespaces but those that are kept, and forgets that any were refused.
fn keep_namespaces(ways: &mut HashMap<Scope, Way>, kind: &GroupKind, is_kept: impl Fn(&str) -> bool) {
    ways.retain(|scope, way| {
        let is_kept = scope.kind != *kind || scope.namespace.as_deref().is_none_or(&is_kept);
        if let (false, Way::Watch(end)) = (is_kept, way) {
            end.cancel();
        }
        is_kept
    });
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
mod tests;
