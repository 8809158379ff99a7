//! `GitRepository` (SRC 4).

mod act;
mod decide;
mod include;
mod observe;
mod packed;
mod part;
mod preview;
mod start;
mod stores;
mod tree;
mod verify;
mod whole;

use weir_access::Secrets;
use weir_api::GitRepository;
use weir_auth::Logins;
use weir_git::{Git, Stores};
use weir_runtime::{Cache, EventDraft, ObjectKey};

use self::packed::Packed;
pub use self::preview::{Preview, PreviewError, preview};
pub(crate) use self::start::start;
use crate::source::{Attempt, Failure, SourceReconciler, Success};
use crate::storage::Storage;
use crate::verification::Verdicts;

/// Keeps the artifacts of `GitRepository` objects equal to what their references stand for.
struct GitReconciler {
    git: Git,
    /// Repositories fetched before, by object.
    stores: Stores,
    secrets: Secrets,
    storage: Storage,
    verdicts: Verdicts,
    /// Packed parts that the next artifact of an object can copy.
    packed: Packed,
    /// All repositories, to include their artifacts.
    objects: Cache<GitRepository>,
    /// Longest wait for an artifact that is to be included, when no watch reports it.
    requeue_dependency: std::time::Duration,
    logins: Logins,
    /// True when objects may act with an identity of their own.
    workload_identity: bool,
}

impl SourceReconciler for GitReconciler {
    type Object = GitRepository;

    async fn bring_up_to_date(&self, attempt: &mut Attempt<'_, GitRepository>) -> Result<Success, Failure> {
        Failure::unless_gated(attempt.object.spec.service_account_name.as_deref(), self.workload_identity)?;
        self.warn_of_ambiguity(attempt);
        let observed = self.observe(attempt).await?;
        let plan = decide::decide(&attempt.object, attempt.known.as_ref(), &observed);
        self.act(attempt, observed, plan).await
    }

    fn stored_message(success: &Success) -> String {
        format!("stored artifact for revision '{}'", success.artifact.revision)
    }

    async fn clear(&self, object: &GitRepository) {
        self.drop_store(object).await;
    }

    fn forget(&self, key: &ObjectKey) {
        self.verdicts.forget(key);
        self.packed.forget(key);
    }
}

impl GitReconciler {
    fn warn_of_ambiguity(&self, attempt: &mut Attempt<'_, GitRepository>) {
        if let Some(message) = decide::ambiguity(&attempt.object) {
            tracing::warn!(object = %attempt.key(), message);
            attempt.remark(EventDraft::trace("AmbiguousReference", message));
        }
    }
}
