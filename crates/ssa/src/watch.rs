//! One watch for each kind that is applied, of the objects that carry an owner's label, or one for each namespace where that of all is
//! refused (KS-IMP-7). They feed the ledger.

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
use crate::stage::Scope;
use crate::{GroupKind, Ledger, Mapping, ObjectId};

/// Watches held at once; one is a connection. Objects of further kinds are checked by requests as if there were none.
const MAX_WATCHES: usize = 96;

/// Objects a page of a first list, so that a large cluster is not held in memory to be looked through.
const PAGE: u32 = 200;

/// Missed objects of a cluster that are looked for at once.
const LOOKS_AT_ONCE: usize = 4;

/// Kinds, and namespaces of kinds, of which is known if they are watched. Objects of others are checked by requests.
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
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// By a watch.
    Watch,
    /// By a watch of each namespace, because the API server refuses that of all. It is asked again after this time.
    NamespacesUntil(Instant),
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
    /// The kinds of applied objects, and their namespaces where each has its own watch.
    ways: Mutex<HashMap<Scope, Way>>,
    looks: Semaphore,
    tasks: TaskTracker,
    shutdown: CancellationToken,
}

impl Watches {
    /// Returns the watches of the objects that carry `label`, made as `client`, until `shutdown`.
    pub fn new(client: Client, ledger: Arc<Ledger>, label: String, shutdown: CancellationToken) -> Self {
        let (ways, tasks) = (Mutex::default(), TaskTracker::new());
        let looks = Semaphore::new(LOOKS_AT_ONCE);
        Self(Arc::new(Inner { client, ledger, label, ways, looks, tasks, shutdown }))
    }

    /// Returns the number of kinds whose objects are not watched, or not in one of their namespaces: each run asks for them.
    pub fn unwatched(&self) -> usize {
        let ways = self.0.ways.lock();
        ways.values().filter(|way| matches!(way, Way::RequestsUntil(_) | Way::Requests)).count()
    }

    /// Waits until all watches have ended after shutdown.
    pub async fn stopped(&self) {
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// Sees to it that an object of a kind is watched.
    pub(crate) fn ensure(&self, mapping: &Mapping, namespace: &str) {
        let kind = GroupKind { group: mapping.resource.group.clone(), kind: mapping.resource.kind.clone() };
        let Some(scope) = self.0.begin(kind, namespace) else { return };
        let (watches, mapping) = (self.clone(), mapping.clone());
        self.0.tasks.spawn(async move {
            let inner = &watches.0;
            let code = inner.shutdown.run_until_cancelled(inner.watch(&scope, &mapping)).await.flatten();
            inner.ledger.unwatched(&scope);
            let is_split = code == Some(FORBIDDEN) && scope.namespace.is_none() && mapping.is_namespaced;
            inner.end(&scope, code, is_split);
            if is_split {
                for namespace in inner.ledger.namespaces_of(&scope.kind) {
                    watches.ensure(&mapping, &namespace);
                }
            }
        });
    }
}

impl Inner {
    /// Returns what is to be watched from now on for objects of a kind in a namespace; nothing where it is watched, or cannot be.
    fn begin(&self, kind: GroupKind, namespace: &str) -> Option<Scope> {
        let now = Instant::now();
        let mut scope = Scope::everywhere(kind);
        let mut ways = self.ways.lock();
        if matches!(ways.get(&scope), Some(Way::NamespacesUntil(time)) if *time > now) {
            scope.namespace = Some(namespace.to_owned());
        }
        match ways.get(&scope) {
            Some(Way::Watch) => return None,
            Some(Way::RequestsUntil(time)) if *time > now => return None,
            None if ways.len() >= MAX_SCOPES => return None,
            _ => {}
        }
        if ways.values().filter(|way| **way == Way::Watch).count() >= MAX_WATCHES {
            if !ways.values().any(|way| *way == Way::Requests) {
                let kind = &scope.kind.kind;
                tracing::warn!(
                    at_most = MAX_WATCHES,
                    kind,
                    "objects of further kinds are asked for instead of watched"
                );
            }
            ways.insert(scope, Way::Requests);
            return None;
        }
        ways.insert(scope.clone(), Way::Watch);
        Some(scope)
    }

    /// Remembers how a watch has ended: with the code of an answer, or at shutdown.
    fn end(&self, scope: &Scope, code: Option<u16>, is_split: bool) {
        let mut ways = self.ways.lock();
        let again = Instant::now() + REFUSED;
        match code {
            Some(NOT_FOUND) => ways.remove(scope),
            _ if is_split => ways.insert(scope.clone(), Way::NamespacesUntil(again)),
            _ => ways.insert(scope.clone(), Way::RequestsUntil(again)),
        };
    }

    /// Ends when the server refuses the kind for good, with the code of its answer.
    async fn watch(self: &Arc<Self>, scope: &Scope, mapping: &Mapping) -> Option<u16> {
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
    ) -> Option<u16> {
        let (client, resource) = (self.client.clone(), &mapping.resource);
        let api: Api<Sight<IS_METADATA>> = match &scope.namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, resource),
            None => Api::all_with(client, resource),
        };
        self.follow(scope, mapping, anew(|| watcher(api.clone(), config.clone()))).await
    }

    async fn follow<const IS_METADATA: bool>(
        self: &Arc<Self>,
        scope: &Scope,
        mapping: &Mapping,
        events: impl Stream<Item = watcher::Result<Event<Sight<IS_METADATA>>>>,
    ) -> Option<u16> {
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
                    if let Some(code) = refusal(&error) {
                        let namespace = scope.namespace.as_deref();
                        tracing::info!(kind = kind.kind, group = kind.group, namespace, %error, "kind cannot be watched: its objects are asked for");
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
            watches.ensure(&mapping, "apps");
            watches.ensure(&mapping, "apps");
        }
        assert_eq!(watches.unwatched(), 2);
        shutdown.cancel();
        watches.stopped().await;
    }

    /// KS-IMP-7: as an identity with rights in a namespace.
    #[tokio::test]
    async fn a_kind_that_may_be_watched_in_a_namespace_only_is_watched_there() {
        let (asked, mut paths) = tokio::sync::mpsc::channel(8);
        let answer = move |request: http::Request<Body>| {
            let path = request.uri().path().to_owned();
            let is_allowed = path.contains("/namespaces/apps/");
            let _told = asked.try_send(path);
            async move {
                if is_allowed {
                    return pending().await;
                }
                let status = Body::from(br#"{"kind":"Status","status":"Failure","code":403}"#.to_vec());
                Ok::<_, Infallible>(http::Response::builder().status(403).body(status).unwrap())
            }
        };
        let client = Client::new(tower::service_fn(answer), "default");
        let ledger = Arc::new(Ledger::new("kustomize-controller", &[], |_, _, _| {}));
        let owner = crate::Owner { group: "g".into(), name: "o".into(), namespace: "apps".into() };
        ledger.make_room(&owner, &"apps_web_example.com_Thing".parse().unwrap());
        let shutdown = CancellationToken::new();
        let watches = Watches::new(client, ledger, "example.com/name".to_owned(), shutdown.clone());
        let kind = GroupVersionKind::gvk("example.com", "v1", "Thing");
        let mapping = Mapping { resource: ApiResource::from_gvk(&kind), is_namespaced: true };
        watches.ensure(&mapping, "apps");
        assert_eq!(paths.recv().await.unwrap(), "/apis/example.com/v1/things");
        assert_eq!(paths.recv().await.unwrap(), "/apis/example.com/v1/namespaces/apps/things");
        assert_eq!(watches.unwatched(), 0);
        watches.ensure(&mapping, "other");
        assert_eq!(paths.recv().await.unwrap(), "/apis/example.com/v1/namespaces/other/things");
        shutdown.cancel();
        watches.stopped().await;
        assert!(paths.try_recv().is_err(), "each is asked for once");
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
        watches.ensure(&Mapping { resource: ApiResource::from_gvk(&kind), is_namespaced: false }, "");
        watches.stopped().await;
        assert_eq!(watches.unwatched(), expected);
    }
}
