//! Repositories fetched before, kept per object and removed with it.

use url::Url;
use weir_api::GitRepository;
use weir_git::{Remote, Store, Stores};
use weir_runtime::{Cache, ObjectKey, Service};

use super::GitReconciler;
use crate::storage::Storage;
use crate::sweep::hourly;

impl GitReconciler {
    /// The kept repositories of an object. They go by its uid: what was fetched for one object is never used for a
    /// later one of the same name.
    pub(super) fn store_of(&self, object: &GitRepository) -> Option<Store> {
        self.stores.of(object.metadata.uid.as_deref()?)
    }

    /// Removes what an object has kept and does not use any more: another URL, a submodule that went.
    pub(super) async fn keep_only(&self, remote: &Remote, mut used: Vec<(String, Url)>) {
        let Some(store) = remote.store.clone() else { return };
        used.push((String::new(), remote.url.clone()));
        let tidy = move || store.keep_only(used.iter().map(|(role, url)| (role.as_str(), url)));
        if let Err(error) = self.storage.blocking(tidy).await.and_then(|tidied| tidied) {
            tracing::warn!(%error, "Git repositories that are not used any more were not removed");
        }
    }

    /// Removes the kept repositories of an object that goes away.
    pub(super) async fn drop_store(&self, object: &GitRepository) {
        let Some(store) = self.store_of(object) else { return };
        let removed = self.storage.blocking(move || store.remove()).await;
        if let Err(error) = removed.and_then(|removed| removed) {
            // The hourly sweep tries again.
            tracing::warn!(object = %ObjectKey::of(object), %error, "fetched Git objects were not removed");
        }
    }
}

/// Removes what was fetched for objects that are gone, now and every hour.
pub(super) fn sweep(service: &Service, storage: Storage, stores: Stores, objects: Cache<GitRepository>) {
    hourly(service, move || {
        let (storage, stores, objects) = (storage.clone(), stores.clone(), objects.clone());
        async move {
            objects.synced().await;
            if !objects.is_whole() {
                return;
            }
            // Asked when a folder is about to go: an object may have come since the sweep began.
            let is_live = move |uid: &str| objects.knows_uid(uid);
            match storage.blocking(move || stores.sweep(&is_live)).await.and_then(|swept| swept) {
                Ok(0) => {}
                Ok(count) => tracing::info!(count, "removed Git repositories of objects that are gone"),
                Err(error) => tracing::warn!(%error, "Git repositories were not swept"),
            }
        }
    });
}
