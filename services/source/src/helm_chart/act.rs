//! Storing what was built (SRC-CHT-17, SRC-CHT-19).

use weir_api::HelmChart;
use weir_api::condition_type::STORAGE_OPERATION_FAILED;
use weir_artifact::StoreError;
use weir_artifact::archive::Sink;
use weir_runtime::EventDraft;

use super::HelmChartReconciler;
use super::build::{Build, Package};
use crate::source::{Attempt, Failure, Published, Success};
use crate::storage::NewArtifact;

/// The link that always points at the newest package.
const LINK: &str = "latest.tar.gz";

impl HelmChartReconciler {
    pub(super) async fn act(
        &self,
        attempt: &mut Attempt<'_, HelmChart>,
        build: Build,
    ) -> Result<Success, Failure> {
        if build.resolved > 0 {
            let told = format!("resolved {} chart dependencies", build.resolved);
            attempt.remark(EventDraft::trace("ResolvedDependencies", told));
        }
        let (message, reason) = (build.summary(), Some(build.reason()));
        let Build { name, version, values_files, package, .. } = build;
        let package = match package {
            Package::Stored(known) => {
                return Ok(Success { reason, ..Success::up_to_date(known, message) });
            }
            Package::New(package) => package,
        };
        attempt.outdated("NewChart", &message);
        let at = attempt.object.location().map_err(|error| Failure::storage(&error))?;
        // The names of charts may have slashes, those of files may not.
        let file = format!("{}-{version}.tgz", name.replace('/', "-"));
        let new = NewArtifact { at, file, link: Some(LINK) };
        let write = move |out: &mut dyn Sink| out.write_all(&package);
        let stored = attempt.put(&self.storage, new, version, write).await;
        let artifact = stored.map_err(|error| unstored(&error))?;
        let ignores_missing = attempt.object.spec.ignore_missing_values_files;
        let status = attempt.object.status.get_or_insert_default();
        status.observed_chart_name = Some(name);
        status.observed_values_files = if ignores_missing { values_files } else { Vec::new() };
        Ok(Success { reason, ..Success::new(artifact, message) })
    }
}

/// Makes the failure of a package that cannot be stored. Of charts, Flux has a reason of its own for the lock.
fn unstored(error: &StoreError) -> Failure {
    match error {
        StoreError::Lock { .. } => {
            Failure::new(STORAGE_OPERATION_FAILED, "AcquireLockFailed", error.to_string())
        }
        error => Failure::keeping("unable to copy Helm chart to storage", error),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// SRC-CHT-19
    #[rstest::rstest]
    #[case(
        StoreError::Lock { source: io::ErrorKind::TimedOut.into() },
        "AcquireLockFailed: failed to acquire lock for artifact: timed out"
    )]
    #[case(
        StoreError::Write { source: io::ErrorKind::StorageFull.into() },
        "ArchiveOperationFailed: unable to copy Helm chart to storage: no storage space"
    )]
    fn packages_that_cannot_be_stored(#[case] error: StoreError, #[case] expected: &str) {
        let failure = unstored(&error);
        assert_eq!(failure.condition, STORAGE_OPERATION_FAILED);
        assert_eq!(format!("{}: {}", failure.cause.reason, failure.cause.message), expected);
    }
}
