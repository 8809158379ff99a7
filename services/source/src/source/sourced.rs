//! The loop of a kind of sources: the same for all, save for how an object is brought up to date.

use super::{Attempt, Failure, Source, Success, finalize, suspended};
use crate::storage::Storage;
use std::future::Future;
use weir_api::FluxObject;
use weir_auth::Logins;
use weir_runtime::{Finalized, ObjectKey, Outcome, Reconciler, Run};

/// What is special about a kind of sources.
pub(crate) trait SourceReconciler: Send + Sync + 'static {
    /// The kind.
    type Object: Source;

    /// Fetches what is new and stores it. The artifact that is there has been looked at before; the result is reported
    /// after.
    fn bring_up_to_date(
        &self,
        attempt: &mut Attempt<'_, Self::Object>,
    ) -> impl Future<Output = Result<Success, Failure>> + Send;

    /// What `ArtifactInStorage`, and with it Ready, says of a stored artifact.
    fn stored_message(success: &Success) -> String {
        format!("stored artifact: revision '{}'", success.artifact.revision)
    }

    /// Whether an object is only read by others, see [`Reconciler::is_static`].
    fn is_static(object: &Self::Object) -> bool {
        let _ = object;
        false
    }

    /// Removes what is kept on disk, beside artifacts, for an object that goes away.
    fn clear(&self, object: &Self::Object) -> impl Future<Output = ()> + Send {
        let _ = object;
        async {}
    }

    /// The object is gone: drops what is kept for it in memory.
    fn forget(&self, key: &ObjectKey) {
        let _ = key;
    }
}

/// A kind of sources in its loop.
pub(super) struct Sourced<R> {
    pub(super) storage: Storage,
    pub(super) logins: Logins,
    pub(super) kind: R,
}

impl<R: SourceReconciler> Reconciler for Sourced<R> {
    type Object = R::Object;

    fn is_static(object: &R::Object) -> bool {
        R::is_static(object)
    }

    async fn reconcile(&self, run: Run<R::Object>) -> Outcome<R::Object> {
        let mut attempt = Attempt::begin(&self.storage, &run).await;
        let result = run.cancel.run_until_cancelled(self.kind.bring_up_to_date(&mut attempt)).await;
        attempt.end(result, R::stored_message)
    }

    async fn suspended(&self, object: &R::Object) -> Option<R::Object> {
        suspended(&self.storage, object).await
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
