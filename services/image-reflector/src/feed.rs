//! Resolutions of policies as they change, for those who stream them.

use std::sync::Arc;

use tokio::sync::broadcast;
use weir_api::{ImagePolicy, image::ImageRef};
use weir_proto::image::v1::Resolution;
use weir_runtime::{Cache, Change, ObjectKey};

/// Changes that a slow reader may be behind; one further behind starts over with the state of now.
const BACKLOG: usize = 1024;

/// The changes of all resolutions; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Feed(broadcast::Sender<Resolution>);

impl Feed {
    /// Follows the policies of a cache.
    pub(crate) fn new(policies: &Cache<ImagePolicy>) -> Self {
        let (sender, _) = broadcast::channel(BACKLOG);
        let feed = Self(sender.clone());
        policies.on_change(move |change: &Change<ImagePolicy>| {
            let latest = |policy: &Option<Arc<ImagePolicy>>| policy.as_deref().and_then(latest_ref);
            let (old, new) = (latest(&change.old), latest(&change.new));
            if let Some(policy) = change.latest().filter(|_| old != new) {
                // Nobody may be listening, which is fine.
                let _ = sender.send(resolution(policy, new));
            }
        });
        feed
    }

    /// Changes from now on.
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Resolution> {
        self.0.subscribe()
    }
}

fn latest_ref(policy: &ImagePolicy) -> Option<ImageRef> {
    policy.status.as_ref()?.latest_ref.clone()
}

/// Returns the current resolution of a policy.
pub(crate) fn current(policy: &ImagePolicy) -> Resolution {
    resolution(policy, latest_ref(policy))
}

fn resolution(policy: &ImagePolicy, latest: Option<ImageRef>) -> Resolution {
    let key = ObjectKey::of(policy);
    let latest = latest.unwrap_or_default();
    Resolution {
        namespace: key.namespace,
        policy: key.name,
        image: latest.name,
        tag: latest.tag,
        digest: latest.digest,
    }
}
