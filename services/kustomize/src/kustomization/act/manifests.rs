//! From an artifact to the manifests that it stands for.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use weir_api::Artifact;
use weir_ignore::Matcher;
use weir_kustomize::{FileSystem, FsPath};
use weir_ssa::Manifest;

use crate::build::{self, Built};
use crate::builds::{Budgeted, Means};
use crate::decryption::opts_out;
use crate::fetch;
use crate::files::ArtifactFiles;
use crate::kustomization::KustomizationReconciler;
use crate::kustomization::extent::Extent;
use crate::kustomization::failure::{Failure, reason};
use crate::kustomization::health::work_limit_of;
use crate::kustomization::memory::{Applied, Inputs};
use crate::kustomization::observe::Observed;

/// The result of a build.
pub(super) enum Made {
    /// The manifests of the last apply, which the cluster still has.
    Same(Applied),
    /// These.
    Built(Built),
}

impl KustomizationReconciler {
    /// The files of an artifact, and the place in them that is to be built.
    pub(super) async fn fetch(
        &self,
        observed: &Observed,
        artifact: &Artifact,
    ) -> Result<(ArtifactFiles, FsPath), Failure> {
        let limit = work_limit_of(&observed.kustomization);
        let fetching = self.artifacts.files(&observed.source_id, artifact);
        let fetched = within(limit, fetching).await;
        let fetched = fetched.unwrap_or_else(|overdue| Err(fetch::Error::Transport(overdue)));
        let files = fetched.map_err(|error| self.fetch_failure(observed, &error))?;
        let path = observed.kustomization.spec.path.as_deref().unwrap_or_default();
        match build::place(path) {
            Some(place) if files.is_dir(&place) || files.is_file(&place) => Ok((files, place)),
            _ => {
                let message = format!("kustomization path not found: stat {path}: no such file or directory");
                Err(Failure::retry(reason::ARTIFACT_FAILED, message))
            }
        }
    }

    /// A download that may succeed in a moment is tried again soon, by a run of its own. One of other content is a failure when that
    /// is so twice: a source stores an artifact a moment before it advertises it.
    fn fetch_failure(&self, observed: &Observed, error: &fetch::Error) -> Failure {
        if matches!(error, fetch::Error::NotFound) {
            return Failure::artifact_gone(self.settings.requeue_dependency);
        }
        let tries = observed.unit.tries_in_vain.saturating_add(1);
        if tries == 1 && matches!(error, fetch::Error::Mismatch(_)) {
            let pause = self.settings.requeue_dependency.to_std();
            return Failure::again(reason::ARTIFACT_FAILED, error.to_string(), pause);
        }
        let pause = self.artifacts.pause_after(tries).filter(|_| error.may_pass());
        match pause {
            Some(pause) => Failure::again(reason::ARTIFACT_FAILED, error.to_string(), pause),
            None => Failure::retry(reason::ARTIFACT_FAILED, error.to_string()),
        }
    }

    /// The last apply, if the cluster still has what it made, and the only question is whether a build of other files would
    /// make the same.
    pub(super) fn comparable(&self, observed: &Observed, extent: Extent) -> Option<Applied> {
        let (applied, inputs) = (observed.unit.applied.clone()?, observed.inputs.clone()?);
        let is_same =
            Inputs { artifact: applied.inputs.artifact.clone(), ..inputs.clone() } == applied.inputs;
        let is_certain = observed.is_certain() && !observed.unit.is_stale(observed.now);
        let may_skip = extent == Extent::Changed && is_certain;
        (is_same && may_skip).then_some(Applied { inputs, ..applied })
    }

    /// Builds off the reactor, within the time that the object gives (KS-REC-40), unless the same as last time would come of it.
    /// A build that is given up ends at its next step, and gives back its turn and its share of memory then.
    pub(super) async fn build(
        &self,
        observed: &Observed,
        files: ArtifactFiles,
        directory: FsPath,
        last: Option<Applied>,
        cancel: CancellationToken,
    ) -> Result<Budgeted<Made>, Failure> {
        let failed = |text: String| Failure::retry(reason::BUILD_FAILED, text);
        if files.is_file(&directory) {
            let path = observed.kustomization.spec.path.as_deref().unwrap_or_default();
            return Err(failed(format!("kustomization path is not a directory: {path}")));
        }
        let decryption = observed.decryption.clone().transpose().map_err(failed)?;
        let (spec, variables) = (observed.kustomization.spec.clone(), observed.variables.clone());
        let is_strict = self.settings.is_strict;
        let time = work_limit_of(&observed.kustomization);
        let building = self.builds.run(files, time, cancel, move |Means { files, remote, turn, stop }| {
            if let Some(last) = &last
                && last.footprint.still_holds(&files, &directory, &spec)
            {
                return Ok(Made::Same(last.clone()));
            }
            let (directory, spec, variables) = (directory.clone(), spec.clone(), variables.clone());
            let ignored = Matcher::default();
            let decryption = decryption.as_ref().map(|decryption| decryption.lending(turn));
            build::build(build::Input {
                files,
                directory,
                spec,
                variables,
                is_strict,
                ignored,
                decryption,
                remote,
                stop,
                on_warning: |_| {},
            })
            .map(Made::Built)
        });
        let late = |overdue: String| failed(format!("kustomize build failed: {overdue}"));
        let built = within(time, building).await.map_err(late)?;
        let Budgeted { made, share } = built.map_err(|error| failed(error.to_string()))?;
        Ok(Budgeted { made: made.map_err(|error| failed(error.to_string()))?, share })
    }
}

/// Gives up work after its time limit, with a text that says so (KS-REC-40).
async fn within<T>(limit: Duration, work: impl Future<Output = T>) -> Result<T, String> {
    let done = tokio::time::timeout(limit, work).await;
    done.map_err(|_| format!("not done within {}", weir_api::Duration::from(limit)))
}

/// A Secret that is still encrypted must not reach the cluster, whichever of its fields hold the ciphertext (KS-DEC-27).
pub(super) fn refuse_encrypted(manifests: &[Manifest]) -> Result<(), Failure> {
    let is_encrypted = |manifest: &&Manifest| {
        manifest.id().kind == "Secret"
            && manifest.id().group.is_empty()
            && manifest.value().get("sops").is_some()
            && !opts_out(manifest.value())
    };
    let Some(secret) = manifests.iter().find(is_encrypted) else { return Ok(()) };
    let message = format!(
        "{} is SOPS encrypted, configuring decryption is required for this secret to be reconciled",
        secret.id().subject()
    );
    Err(Failure::retry(reason::RECONCILIATION_FAILED, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn work_that_takes_too_long_is_given_up() {
        let limit = Duration::from_secs(5 * 60);
        assert_eq!(within(limit, std::future::pending::<()>()).await.unwrap_err(), "not done within 5m0s");
        within(limit, tokio::time::advance(limit - Duration::from_secs(1))).await.unwrap();
    }
}
