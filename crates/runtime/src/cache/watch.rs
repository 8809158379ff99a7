//! The task that keeps one cache current.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use kube::Resource;
use kube::api::{Api, ApiResource};
use kube::runtime::{WatchStreamExt, watcher};

use super::text::Text;
use super::{Cache, Cached, Knowledge, ObjectKey};
use crate::metrics::KindMetrics;

/// Longest time until a CRD that has come, or a right that was granted, is noticed. Looking for it is one small
/// request, and needs no right to read CRDs.
const LOOK_AGAIN: Duration = Duration::from_secs(3);

/// The objects of a kind that a cache holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Scope {
    /// One namespace, or all of them.
    pub namespace: Option<String>,
    /// Label selector; empty selects everything.
    pub labels: String,
}

/// Errors of setting up a watch.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The first list did not finish.
    #[error("{kind}: the API server did not answer the first list within {seconds} s")]
    NotSynced {
        /// Kind that was to be watched.
        kind: String,
        /// Time that was waited.
        seconds: u64,
    },
    /// The label selector of the flags is none.
    #[error(
        "unable to configure watch label selector: couldn't parse the selector string \"{labels}\": {reason}"
    )]
    Selector {
        /// The selector.
        labels: String,
        /// The words of the API server.
        reason: String,
    },
    /// The process was stopped before the first list was complete.
    #[error("{kind}: stopped before the first list was complete")]
    Stopped {
        /// Kind that was to be watched.
        kind: String,
    },
}

/// The events of a watch. A broken one is resumed or restarted with backoff by kube.
pub(super) type Events = BoxStream<'static, watcher::Result<watcher::Event<Text<false>>>>;

/// Watches whole objects.
pub(super) fn whole(client: kube::Client, kind: &ApiResource, scope: &Scope) -> Events {
    watcher(api::<false>(client, kind, scope), config(scope)).default_backoff().boxed()
}

/// Watches metadata: the content of the objects is never sent.
pub(super) fn metadata(client: kube::Client, kind: &ApiResource, scope: &Scope) -> Events {
    let events = watcher(api::<true>(client, kind, scope), config(scope)).default_backoff();
    let events = events.map_ok(|event| match event {
        watcher::Event::Init => watcher::Event::Init,
        watcher::Event::InitApply(object) => watcher::Event::InitApply(object.erased()),
        watcher::Event::InitDone => watcher::Event::InitDone,
        watcher::Event::Apply(object) => watcher::Event::Apply(object.erased()),
        watcher::Event::Delete(object) => watcher::Event::Delete(object.erased()),
    });
    events.boxed()
}

fn api<const IS_METADATA: bool>(
    client: kube::Client,
    kind: &ApiResource,
    scope: &Scope,
) -> Api<Text<IS_METADATA>> {
    match &scope.namespace {
        Some(namespace) => Api::namespaced_with(client, namespace, kind),
        None => Api::all_with(client, kind),
    }
}

fn config(scope: &Scope) -> watcher::Config {
    watcher::Config::default().labels(&scope.labels)
}

/// Follows a kind until the task is dropped. While its CRD is missing or the account may not list it, it is looked for again
/// and again: the other kinds of the service do not wait for it. A request that the API server cannot read is not made again.
pub(super) async fn follow<K: Cached>(watch: impl Fn() -> Events, cache: Cache<K>, metrics: KindMetrics) {
    let mut left_out = None;
    loop {
        let shown = || {
            metrics.is_absent(false);
            if left_out.take().is_some() {
                tracing::info!(kind = %K::kind(&()), "kind is watched from now on");
            }
        };
        let refused = follow_shown(watch(), &cache, shown).await;
        metrics.is_absent(true);
        if let Refused::Unreadable(_) = refused {
            return cache.refused(refused);
        }
        if left_out.replace(refused.clone()).as_ref() != Some(&refused) {
            tracing::info!(kind = %K::kind(&()), api_version = %K::api_version(&()), %refused, "kind left out");
        }
        cache.refused(refused);
        #[expect(clippy::disallowed_methods, reason = "a watch is no run")]
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Follows the watch until the API server says that there is nothing to watch. Objects that cannot be decoded are logged and
/// set aside, so that one odd object never stops its kind (DEP-K8S-4).
async fn follow_shown<K: Cached>(mut events: Events, cache: &Cache<K>, mut shown: impl FnMut()) -> Refused {
    let mut listed = HashSet::new();
    loop {
        match events.next().await {
            Some(Ok(event)) => {
                let is_listed = matches!(event, watcher::Event::InitDone);
                take(cache, &mut listed, event);
                if is_listed {
                    shown();
                }
            }
            Some(Err(error)) => match Refused::of(&error) {
                Some(refused) => return refused,
                None => tracing::debug!(kind = %K::kind(&()), %error, "watch interrupted"),
            },
            // A watch has no end of its own.
            None => std::future::pending().await,
        }
    }
}

/// The reason for which the API server shows nothing of a kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refused {
    /// It does not serve the kind in this version.
    #[error("its CRD is not installed")]
    NotServed,
    /// The account may not list or watch it.
    #[error("this account may not list it")]
    Forbidden,
    /// It cannot read the request, of which only the label selector is not our own.
    #[error("{0}")]
    Unreadable(Arc<str>),
}

impl Refused {
    fn of(error: &watcher::Error) -> Option<Self> {
        let status = match error {
            watcher::Error::InitialListFailed(kube::Error::Api(status))
            | watcher::Error::WatchStartFailed(kube::Error::Api(status))
            | watcher::Error::WatchFailed(kube::Error::Api(status)) => status,
            watcher::Error::WatchError(status) => status,
            _ => return None,
        };
        match status.code {
            400 => Some(Self::Unreadable(status.message.as_str().into())),
            404 => Some(Self::NotServed),
            403 => Some(Self::Forbidden),
            _ => None,
        }
    }
}

impl<K: Cached> Cache<K> {
    /// Takes note that nothing is shown of the kind. Without its CRD its objects are gone. Where the right to list them was
    /// taken away, those that are known stay as they were: a role that is replaced is away for a moment only.
    pub(super) fn refused(&self, refused: Refused) {
        let before = self.inner.knowledge.borrow().clone();
        let after = match (refused, before) {
            (Refused::Unreadable(reason), _) => Knowledge::Unreadable(reason),
            (Refused::NotServed, _) => Knowledge::NotServed,
            (Refused::Forbidden, Knowledge::Objects) => Knowledge::Objects,
            (Refused::Forbidden, _) => Knowledge::Forbidden,
        };
        if after == Knowledge::NotServed {
            self.retain(&HashSet::new());
        }
        self.inner.knowledge.send_replace(after);
    }
}

fn take<K: Cached>(cache: &Cache<K>, listed: &mut HashSet<ObjectKey>, event: watcher::Event<Text<false>>) {
    match event {
        watcher::Event::Init => listed.clear(),
        watcher::Event::InitApply(object) => {
            listed.insert(ObjectKey::of(&object));
            apply(cache, &object);
        }
        watcher::Event::InitDone => {
            cache.retain(listed);
            listed.clear();
            cache.inner.knowledge.send_replace(Knowledge::Objects);
        }
        watcher::Event::Apply(object) => apply(cache, &object),
        watcher::Event::Delete(object) => cache.delete(&ObjectKey::of(&object)),
    }
}

fn apply<K: Cached>(cache: &Cache<K>, object: &Text<false>) {
    // The answer to a write of our own has mostly come before.
    if cache.knows(&ObjectKey::of(object), object.meta()) {
        return;
    }
    match object.decode() {
        Ok(object) => cache.apply(object),
        Err(error) => {
            let key = ObjectKey::of(object);
            tracing::error!(kind = %K::kind(&()), namespace = key.namespace, name = key.name, %error, "object left out: it does not fit its API type");
            cache.set_aside(key, object.unreadable(&error));
        }
    }
}
