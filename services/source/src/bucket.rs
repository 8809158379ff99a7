//! `Bucket` (SRC 6).

mod access;
mod act;
mod decide;
mod download;
mod observe;

use crate::secrets::Secrets;
use crate::source::{Attempt, DEFAULT_TIMEOUT, Failure, Source, StatusParts, Success, finalize, suspended};
use crate::storage::Storage;
use weir_api::{Artifact, Bucket, Duration};
use weir_auth::Logins;
use weir_bucket::Buckets;
use weir_runtime::{EventDraft, Finalized, Outcome, Reconciler, Run};

/// Keeps the artifacts of `Bucket` objects equal to what is in their buckets.
pub(crate) struct BucketReconciler {
    pub(crate) buckets: Buckets,
    pub(crate) secrets: Secrets,
    pub(crate) logins: Logins,
    pub(crate) storage: Storage,
    /// Whether objects may act with an identity of their own.
    pub(crate) workload_identity: bool,
}

impl Source for Bucket {
    fn status_mut(&mut self) -> StatusParts<'_> {
        let status = self.status.get_or_insert_default();
        StatusParts {
            conditions: &mut status.conditions,
            artifact: &mut status.artifact,
            observed_generation: &mut status.observed_generation,
            url: Some(&mut status.url),
        }
    }

    fn stored_message(success: &Success) -> String {
        format!("stored artifact: revision '{}'", success.artifact.revision)
    }

    fn timeout(&self) -> std::time::Duration {
        self.spec.timeout.map_or(DEFAULT_TIMEOUT, Duration::to_std)
    }
}

impl Reconciler for BucketReconciler {
    type Object = Bucket;

    async fn reconcile(&self, run: Run<Bucket>) -> Outcome<Bucket> {
        let mut attempt = Attempt::begin(&self.storage, &run).await;
        let result = run.cancel.run_until_cancelled(self.bring_up_to_date(&mut attempt)).await;
        attempt.end(result)
    }

    async fn suspended(&self, object: &Bucket) -> Option<Bucket> {
        suspended(&self.storage, object).await
    }

    async fn finalize(&self, run: Run<Bucket>) -> Finalized<Bucket> {
        finalize(&self.storage, &*run.object).await
    }
}

impl BucketReconciler {
    async fn bring_up_to_date(&self, attempt: &mut Attempt<'_, Bucket>) -> Result<Success, Failure> {
        let mut bucket = self.open(attempt).await?;
        let index = observe::index(&mut bucket, &attempt.object).await?;
        let revision = index.revision(self.storage.store().algorithm());
        match attempt.known.as_ref().filter(|known| known.revision == revision) {
            Some(known) => Ok(unchanged(known.clone(), index.len(), &attempt.object.spec.bucket_name)),
            None => self.act(attempt, &bucket, index).await,
        }
    }
}

/// The result when the listing has nothing new (SRC-BKT-2).
fn unchanged(artifact: Artifact, files: usize, name: &str) -> Success {
    let told = format!("artifact up-to-date with remote revision: '{}'", artifact.revision);
    Success {
        unchanged: Some(EventDraft::trace("ArtifactUpToDate", told)),
        ..Success::new(artifact, decide::stored_event(files, name))
    }
}
