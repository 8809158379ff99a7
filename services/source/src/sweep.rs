//! The sweep of the storage: what belongs to no object goes.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use weir_api::{ExternalArtifact, FluxObject};
use weir_runtime::{ObjectKey, Service};

use crate::catalog::{Catalog, Kind};
use crate::storage::Storage;

/// Pause between two looks for directories of objects that are gone, beside the start (SRC-STO-13).
const SWEEP: Duration = Duration::from_secs(60 * 60);

/// Removes what belongs to no object, now and every hour, while this replica leads.
pub(crate) fn start(service: &Service, storage: Storage, catalog: Catalog) {
    hourly(service, move || {
        let (storage, catalog) = (storage.clone(), catalog.clone());
        async move {
            for kind in catalog.kinds() {
                kind.synced().await;
                if kind.is_whole() {
                    sweep_kind(&storage, kind.clone()).await;
                }
            }
        }
    });
}

/// Sweeps now and every hour, while this replica leads.
pub(crate) fn hourly<F>(service: &Service, sweep: impl Fn() -> F + Send + 'static)
where
    F: Future<Output = ()> + Send,
{
    let mut leader = service.leader();
    service.spawn(async move {
        if leader.wait_for(|leads| *leads).await.is_err() {
            return;
        }
        let mut hours = tokio::time::interval(SWEEP);
        loop {
            hours.tick().await;
            sweep().await;
        }
    });
}

/// Time for which a directory without an object is left alone. An ExternalArtifact comes after its file, by as long as a
/// generator may take for all its artifacts; the other kinds come before.
fn settled(kind: &str) -> Duration {
    if kind == ExternalArtifact::KIND { SWEEP } else { Duration::ZERO }
}

async fn sweep_kind(storage: &Storage, kind: Arc<dyn Kind>) {
    let store = storage.store().clone();
    let name = kind.name();
    let work = move || {
        // Asked when a directory is about to go: an object may have come since the sweep began.
        let is_live = |namespace: &str, name: &str| kind.knows_of(&ObjectKey::new(namespace, name));
        store.sweep(&kind.name().to_lowercase(), &is_live, settled(kind.name()), SystemTime::now())
    };
    match storage.blocking(work).await {
        Ok(Ok(0)) => {}
        Ok(Ok(count)) => tracing::info!(kind = name, count, "removed artifacts of objects that are gone"),
        Ok(Err(error)) => tracing::warn!(kind = name, %error, "storage was not swept"),
        Err(error) => tracing::warn!(kind = name, %error, "storage was not swept"),
    }
}
