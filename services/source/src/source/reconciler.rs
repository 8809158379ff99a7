//! The loop of a kind of sources: the same for all, save for how an object is brought up to date.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_util::sync::CancellationToken;
use weir_api::FluxObject;
use weir_auth::Logins;
use weir_runtime::{Finalized, ObjectKey, Outcome, Reconciler, Run};

use super::{Attempt, Failure, Source, Success, finalize, kept, suspended};
use crate::storage::Storage;

/// The part of a source's reconciler that differs from kind to kind.
pub(crate) trait SourceReconciler: Send + Sync + 'static {
    /// The kind.
    type Object: Source;

    /// Fetches what is new and stores it. The artifact that is there has been looked at before; the result is reported
    /// after.
    fn bring_up_to_date(
        &self,
        attempt: &mut Attempt<'_, Self::Object>,
    ) -> impl Future<Output = Result<Success, Failure>> + Send;

    /// Returns the message of `ArtifactInStorage`, and so of Ready, about a stored artifact.
    fn stored_message(success: &Success) -> String {
        format!("stored artifact: revision '{}'", success.artifact.revision)
    }

    /// Returns true when an object is only read by others, see [`Reconciler::is_static`].
    fn is_static(object: &Self::Object) -> bool {
        let _ = object;
        false
    }

    /// Removes what is kept on disk, beside artifacts, for an object that goes away.
    fn clear(&self, object: &Self::Object) -> impl Future<Output = ()> + Send {
        let _ = object;
        async {}
    }

    /// Returns an object whose files are removed, while finalizers of others keep it.
    fn kept(object: &Self::Object) -> Self::Object {
        kept(object)
    }

    /// The object is gone: drops what is kept for it in memory.
    fn forget(&self, key: &ObjectKey) {
        let _ = key;
    }
}

/// The reconciler of a kind: looks into the store before the kind's own work, and reports after it.
pub(super) struct StoringReconciler<R> {
    pub(super) storage: Storage,
    pub(super) logins: Logins,
    pub(super) kind: R,
}

impl<R: SourceReconciler> Reconciler for StoringReconciler<R> {
    type Object = R::Object;

    fn is_static(object: &R::Object) -> bool {
        R::is_static(object)
    }

    async fn reconcile(&self, run: Run<R::Object>) -> Outcome<R::Object> {
        let mut attempt = Attempt::begin(&self.storage, &run).await;
        let storing = attempt.storing();
        let work = self.kind.bring_up_to_date(&mut attempt);
        let result = unless_obsolete(work, &run.cancel, &storing).await;
        attempt.end(result, R::stored_message)
    }

    async fn suspended(&self, object: &R::Object) -> Option<R::Object> {
        suspended(&self.storage, object).await
    }

    fn kept(object: &R::Object) -> Option<R::Object> {
        Some(R::kept(object))
    }

    async fn finalize(&self, run: Run<R::Object>) -> Finalized<R::Object> {
        self.kind.clear(&run.object).await;
        finalize(&self.storage, &*run.object).await
    }

    fn forget(&self, key: &ObjectKey) {
        self.logins.forget(R::Object::KIND, &key.namespace, &key.name);
        self.kind.forget(key);
    }
}

/// Returns the result of `work`, or none when the run becomes obsolete before it begins to store. From then on the
/// work is completed: a new file under the old name that no status mentions would look like a forgery.
async fn unless_obsolete<T>(
    work: impl Future<Output = T>,
    cancel: &CancellationToken,
    storing: &AtomicBool,
) -> Option<T> {
    tokio::pin!(work);
    let is_storing = || storing.load(Ordering::Relaxed);
    tokio::select! {
        biased;
        // The work may notice first that it is obsolete; its failure is none then.
        result = &mut work => (is_storing() || !cancel.is_cancelled()).then_some(result),
        () = cancel.cancelled() => if is_storing() { Some(work.await) } else { None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run is made obsolete while it works. It notices that itself, or goes on.
    #[rstest::rstest]
    #[case::before_it_stores(false, None)]
    #[case::while_it_stores(true, Some(7))]
    #[tokio::test]
    async fn obsolete_runs(
        #[case] is_storing: bool,
        #[case] expected: Option<u8>,
        #[values(false, true)] notices: bool,
    ) {
        let (cancel, storing) = (CancellationToken::new(), AtomicBool::new(false));
        let work = async {
            storing.store(is_storing, Ordering::Relaxed);
            cancel.cancel();
            if !notices {
                tokio::task::yield_now().await;
            }
            7
        };
        assert_eq!(unless_obsolete(work, &cancel, &storing).await, expected);
    }
}
