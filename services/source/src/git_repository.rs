//! `GitRepository` (SRC 4).

mod act;
mod decide;
mod include;
mod observe;
mod stores;
mod tree;
mod verify;
mod whole;

pub(crate) use include::wake;
pub(crate) use stores::sweep;

use crate::secrets::Secrets;
use crate::source::{Attempt, DEFAULT_TIMEOUT, Failure, Source, StatusParts, Success, finalize, suspended};
use crate::storage::Storage;
use crate::verification::Verdicts;
use weir_api::{Artifact, Duration, GitRepository};
use weir_auth::Logins;
use weir_git::{Fetched, Git, Stores};
use weir_runtime::{Cache, EventDraft, Finalized, ObjectKey, Outcome, Reconciler, Run};

/// Keeps the artifacts of `GitRepository` objects equal to what their references stand for.
pub(crate) struct GitReconciler {
    pub(crate) git: Git,
    /// What was fetched before, by object.
    pub(crate) stores: Stores,
    pub(crate) secrets: Secrets,
    pub(crate) storage: Storage,
    pub(crate) verdicts: Verdicts,
    /// All repositories, to include their artifacts.
    pub(crate) objects: Cache<GitRepository>,
    /// How long to wait for an artifact that is to be included, when nothing tells of it.
    pub(crate) requeue_dependency: std::time::Duration,
    pub(crate) logins: Logins,
    /// Whether objects may act with an identity of their own.
    pub(crate) workload_identity: bool,
}

impl Source for GitRepository {
    fn status_mut(&mut self) -> StatusParts<'_> {
        let status = self.status.get_or_insert_default();
        StatusParts {
            conditions: &mut status.conditions,
            artifact: &mut status.artifact,
            observed_generation: &mut status.observed_generation,
            url: None,
        }
    }

    fn stored_message(success: &Success) -> String {
        format!("stored artifact for revision '{}'", success.artifact.revision)
    }

    fn timeout(&self) -> std::time::Duration {
        self.spec.timeout.map_or(DEFAULT_TIMEOUT, Duration::to_std)
    }
}

impl Reconciler for GitReconciler {
    type Object = GitRepository;

    async fn reconcile(&self, run: Run<GitRepository>) -> Outcome<GitRepository> {
        let mut attempt = Attempt::begin(&self.storage, &run).await;
        let result = run.cancel.run_until_cancelled(self.bring_up_to_date(&mut attempt)).await;
        attempt.end(result)
    }

    async fn suspended(&self, object: &GitRepository) -> Option<GitRepository> {
        suspended(&self.storage, object).await
    }

    fn forget(&self, key: &ObjectKey) {
        self.verdicts.forget(key);
    }

    async fn finalize(&self, run: Run<GitRepository>) -> Finalized<GitRepository> {
        self.drop_store(&run).await;
        finalize(&self.storage, &*run.object).await
    }
}

impl GitReconciler {
    async fn bring_up_to_date(&self, attempt: &mut Attempt<'_, GitRepository>) -> Result<Success, Failure> {
        decide::refuse_gated(&attempt.object.spec, self.workload_identity)?;
        self.warn_of_ambiguity(attempt);
        let remote = self.observe(attempt).await?;
        let includes = self.includes(attempt)?;
        let included: Vec<_> = includes.iter().map(|include| &include.artifact).collect();
        if decide::includes_differ(&attempt.object, &included) {
            let message = "building artifact: included artifacts differ from last observed includes";
            attempt.progress(message.to_owned());
        }
        // That nobody can be trusted is told after a fetch that fails, as Flux does.
        let trust = self.trust(attempt).await;
        let asked = trust.as_ref().ok().and_then(Option::as_ref);
        let known = attempt.known.as_ref().filter(|known| self.is_verified(attempt, asked, &known.revision));
        let plan = decide::plan(&attempt.object, known, &included);
        let fetched = self.git.fetch(&remote, &plan.reference, plan.known.as_deref()).await;
        let fetched = fetched.map_err(|error| decide::fetch_failure(&error, &attempt.object.spec.url))?;
        match (trust?, &fetched) {
            (None, _) => self.ignore_signatures(attempt),
            (Some(trust), Fetched::New(checkout)) => {
                self.verify(attempt, checkout, &plan.reference, trust).await?;
            }
            (Some(_), Fetched::Unchanged { .. }) => {}
        }
        match (fetched, &attempt.known) {
            (Fetched::New(checkout), _) => self.act(attempt, &remote, checkout, plan, includes).await,
            (Fetched::Unchanged { revision }, Some(known)) => Ok(unchanged(known.clone(), &revision)),
            // The remote is only told what is known if something is.
            (Fetched::Unchanged { revision }, None) => {
                Err(Failure::fetch("GitOperationFailed", format!("nothing was fetched for '{revision}'")))
            }
        }
    }

    fn warn_of_ambiguity(&self, attempt: &mut Attempt<'_, GitRepository>) {
        if let Some(message) = decide::ambiguity(&attempt.object) {
            tracing::warn!(object = %attempt.key(), message);
            attempt.remark(EventDraft::trace("AmbiguousReference", message));
        }
    }
}

/// The result when the remote has nothing new (SRC-GIT-11).
fn unchanged(artifact: Artifact, revision: &str) -> Success {
    let told = format!("no changes since last reconciliation: observed revision '{revision}'");
    Success {
        unchanged: Some(EventDraft::trace("GitOperationSucceeded", told)),
        ..Success::new(artifact, format!("stored artifact for commit '{revision}'"))
    }
}
