//! Downloading what is in the index and making the artifact of it (SRC-BKT-3, SRC-BKT-4).

use std::fmt::Display;
use std::io;

use tokio::time::timeout;
use weir_api::Bucket;
use weir_api::condition_type::STORAGE_OPERATION_FAILED;
use weir_artifact::archive::Sink;
use weir_artifact::{DirectoryTree, WorkFolder, archive};

use super::BucketReconciler;
use super::decide::{self, Index};
use super::download::Downloads;
use crate::source::{Attempt, Failure, NEW_REVISION, Published, Source, Success};
use crate::storage::NewArtifact;

/// The link that always points at the newest artifact.
const LATEST: &str = "latest.tar.gz";

impl BucketReconciler {
    /// Downloads the objects, stores the artifact, and notes with which settings.
    pub(super) async fn act(
        &self,
        attempt: &mut Attempt<'_, Bucket>,
        bucket: &weir_bucket::Bucket,
        mut index: Index,
    ) -> Result<Success, Failure> {
        let name = attempt.object.spec.bucket_name.clone();
        let at = attempt.object.location().map_err(|error| Failure::storage(&error))?;
        let directory = self.storage.blocking(WorkFolder::new).await.flatten();
        let directory = directory.map_err(|error| work_failure(&error))?;
        let downloads = Downloads::open(directory.path(), self.storage.clone());
        let downloads = downloads.map_err(|error| work_failure(&error))?;
        let told = |error: &dyn Display| format!("fetch from bucket '{name}' failed: {error}");
        let fetched = timeout(attempt.object.timeout(), downloads.fetch_all(bucket, &mut index)).await;
        let fetched = fetched.map_err(|_| decide::failed(told(&"context deadline exceeded")))?;
        fetched.map_err(|error| {
            let message = told(&error);
            if error.is_of_disk() {
                return Failure::disk(message);
            }
            decide::failed(message).after(error.retry_after())
        })?;

        // Objects may have changed since they were listed: the artifact is of what was read.
        let message = decide::stored_event(index.len(), &name);
        let digest = index.digest(self.storage.store().algorithm());
        if let Some(known) = attempt.known.clone() {
            if index.is_at(&known.revision) {
                return Ok(Success::up_to_date(known, message));
            }
            attempt.outdated(NEW_REVISION, &format!("new upstream revision '{digest}'"));
        }
        let new = NewArtifact { at, file: format!("{}.tar.gz", digest.hex()), link: Some(LATEST) };
        let fill = move |out: &mut dyn Sink| {
            archive::write(&DirectoryTree::open_path(directory.path())?, &|_, _| true, out)
        };
        let stored = attempt.put(&self.storage, new, digest.to_string(), fill).await;
        let artifact = stored.map_err(|error| Failure::storage(&error))?;
        let ignore = attempt.object.spec.ignore.clone();
        attempt.object.status.get_or_insert_default().observed_ignore = ignore;
        Ok(Success::new(artifact, message))
    }
}

fn work_failure(error: &io::Error) -> Failure {
    let message = format!("failed to create temporary working directory: {error}");
    Failure::new(STORAGE_OPERATION_FAILED, "DirectoryCreationFailed", message)
}
