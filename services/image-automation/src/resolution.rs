//! Resolutions of policies as image-reflector streams them: newer than what the watch of the API has seen, and gone with
//! the stream, so that the API is what counts when the peer is away.

use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use tonic::Status;
use weir_api::{ImageUpdateAutomation, image::ImageRef};
use weir_proto::image::v1::{Resolution, WatchResolutionsRequest, reflector_client::ReflectorClient};
use weir_runtime::grpc::PeerChannel;
use weir_runtime::metrics::{Route, RouteMetrics};
use weir_runtime::{Cause, Environment, Index, ObjectKey, Queue, ServiceError};

/// The first pause before a stream is opened again, doubled with each up to the second: all services start together, and then the peer
/// is there in a moment. The watch of the API goes on meanwhile.
const PAUSE: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));

/// Time from a new selection to the run, in which others of the same scan or push mostly come. A person does not notice it.
const TOGETHER: Duration = Duration::from_millis(500);

/// Most resolutions kept; a cluster has as many as policies, and the API still knows those beyond.
const MAX_RESOLUTIONS: usize = 100_000;

/// Resolutions that the stream has sent, by policy; clones share them.
#[derive(Clone)]
pub(crate) struct Resolutions {
    streamed: Arc<RwLock<Streamed>>,
    routes: RouteMetrics,
}

#[derive(Default)]
struct Streamed {
    is_open: bool,
    selections: HashMap<ObjectKey, ImageRef>,
}

impl Resolutions {
    /// Knows nothing yet, and counts the ways in which selections come.
    pub(crate) fn new(routes: RouteMetrics) -> Self {
        Self { streamed: Arc::default(), routes }
    }

    /// Returns the newest selection of a policy from the stream, while there is a stream.
    pub(crate) fn get(&self, policy: &ObjectKey) -> Option<ImageRef> {
        self.streamed.read().selections.get(policy).cloned()
    }

    /// Counts a selection that the watch of the API has told, unless there is a stream, which tells it as well.
    pub(crate) fn watched(&self) {
        if !self.streamed.read().is_open {
            self.routes.took(Route::Api);
        }
    }

    /// Follows the stream for ever, through losses of the peer.
    ///
    /// # Errors
    /// When the address is none.
    pub(crate) fn follow(
        &self,
        addr: &str,
        env: &Environment,
        wake: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<impl Future<Output = ()> + Send + 'static, ServiceError> {
        let mut client = ReflectorClient::new(env.peers.connect(addr)?);
        let resolutions = self.clone();
        Ok(async move {
            let mut pause = PAUSE.0;
            loop {
                if let Err(status) = resolutions.follow_once(&mut client, &wake).await {
                    tracing::debug!(%status, "stream of resolutions lost");
                }
                resolutions.routes.streams(false);
                // Resolutions from the stream are dropped; the API may be newer meanwhile.
                let forgotten = std::mem::take(&mut *resolutions.streamed.write());
                if forgotten.is_open {
                    pause = PAUSE.0;
                }
                let forgotten = forgotten.selections.into_keys();
                let namespaces: BTreeSet<String> = forgotten.map(|key| key.namespace).collect();
                namespaces.iter().for_each(|namespace| wake(namespace));
                #[expect(clippy::disallowed_methods, reason = "the stream's reader is no run")]
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(PAUSE.1);
            }
        })
    }

    async fn follow_once(
        &self,
        client: &mut ReflectorClient<PeerChannel>,
        wake: &impl Fn(&str),
    ) -> Result<(), Status> {
        let mut stream = client.watch_resolutions(WatchResolutionsRequest::default()).await?.into_inner();
        self.streamed.write().is_open = true;
        self.routes.streams(true);
        while let Some(response) = stream.message().await? {
            if let Some(resolution) = response.resolution
                && self.take(&resolution)
            {
                wake(&resolution.namespace);
            }
        }
        Ok(())
    }

    /// Records a resolution; returns true when it is a new selection.
    fn take(&self, resolution: &Resolution) -> bool {
        let key = ObjectKey::new(&resolution.namespace, &resolution.policy);
        let mut streamed = self.streamed.write();
        let known = &mut streamed.selections;
        if resolution.tag.is_empty() {
            known.remove(&key);
            return false;
        }
        let latest = ImageRef {
            name: resolution.image.clone(),
            tag: resolution.tag.clone(),
            digest: resolution.digest.clone(),
        };
        if known.len() >= MAX_RESOLUTIONS && !known.contains_key(&key) {
            return false;
        }
        let is_new = known.insert(key, latest.clone()).is_none_or(|old| old != latest);
        if is_new {
            self.routes.took(Route::Grpc);
        }
        is_new
    }
}

/// Wakes the automations of a namespace whose policies have a new selection.
pub(crate) fn waker(
    by_namespace: Index<ImageUpdateAutomation, String>,
    queue: Queue,
) -> impl Fn(&str) + Clone + Send + Sync + 'static {
    move |namespace| {
        let automations = by_namespace.naming(&namespace.to_owned());
        automations.iter().for_each(|automation| wake_soon(&queue, ObjectKey::of(&**automation)));
    }
}

/// Wakes an automation in a moment: policies that one scan or one push of several images moves make one commit (IU-1).
fn wake_soon(queue: &Queue, automation: ObjectKey) {
    queue.enqueue_after(automation, Cause::Dependency, TOGETHER);
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, advance, timeout};

    use super::*;

    /// IU-1: selections that come one after the other make one run, which later ones do not put off.
    #[tokio::test(start_paused = true)]
    async fn selections_of_a_moment_wake_once() {
        let (queue, key) = (Queue::default(), ObjectKey::new("apps", "all"));
        let start = Instant::now();
        for _ in 0..3 {
            wake_soon(&queue, key.clone());
            advance(TOGETHER / 4).await;
        }
        let ticket = queue.next().await;
        assert_eq!((&ticket.key, ticket.causes), (&key, vec![Cause::Dependency]));
        assert_eq!(start.elapsed().as_millis(), TOGETHER.as_millis());
        queue.done(&key, None);
        assert!(timeout(TOGETHER * 10, queue.next()).await.is_err());
    }
}
