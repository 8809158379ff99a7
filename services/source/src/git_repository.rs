//! `GitRepository` (SRC 4).

mod act;
mod decide;
mod include;
mod observe;
mod packed;
mod part;
mod start;
mod stores;
mod tree;
mod verify;
mod whole;

pub(crate) use start::start;

use crate::source::{Attempt, Failure, SourceReconciler, Success};
use crate::storage::Storage;
use crate::verification::Verdicts;
use packed::Packed;
use weir_access::Secrets;
use weir_api::GitRepository;
use weir_auth::Logins;
use weir_git::{Fetched, Git, Stores};
use weir_runtime::{Cache, EventDraft, ObjectKey};

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
        decide::refuse_gated(&attempt.object.spec, self.workload_identity)?;
        self.warn_of_ambiguity(attempt);
        let mut remote = self.observe(attempt).await?;
        let includes = self.includes(attempt)?;
        let included: Vec<_> = includes.iter().map(|include| &include.artifact).collect();
        if decide::includes_differ(&attempt.object, &included) {
            let message = "building artifact: included artifacts differ from last observed includes";
            attempt.progress(message.to_owned());
        }
        attempt.not_outdated();
        // A failed fetch is reported before missing trusted keys, as Flux does.
        let trust = self.trust(attempt).await;
        let asked = trust.as_ref().ok().and_then(Option::as_ref);
        let known = attempt.known.as_ref().filter(|known| self.is_verified(attempt, asked, &known.revision));
        let plan = decide::plan(&attempt.object, known, &included);
        remote.part = part::part(&attempt.object.spec, &plan.sparse);
        let fetched = self.git.fetch(&remote, &plan.reference, plan.known.as_deref()).await;
        let fetched = fetched.map_err(|error| {
            let (url, has_known) = (&attempt.object.spec.url, attempt.known.is_some());
            decide::fetch_failure(&error, url, &plan.reference, has_known)
        })?;
        match (trust?, &fetched) {
            (None, _) => self.ignore_signatures(attempt),
            (Some(trust), Fetched::New(checkout)) => {
                self.verify(attempt, checkout, &plan.reference, trust).await?;
            }
            (Some(_), Fetched::Unchanged { .. }) => {}
        }
        match (fetched, &attempt.known) {
            (Fetched::New(checkout), _) => self.act(attempt, &remote, checkout, plan, includes).await,
            (Fetched::Unchanged { revision }, Some(known)) => {
                Ok(decide::unchanged(known.clone(), &revision, &plan.reference))
            }
            // The remote gets a known revision only if there is one.
            (Fetched::Unchanged { revision }, None) => {
                Err(Failure::fetch("GitOperationFailed", format!("nothing was fetched for '{revision}'")))
            }
        }
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
