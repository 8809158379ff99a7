//! Observes where the chart comes from (SRC-CHT-2, SRC-CHT-3).

use std::sync::Arc;

use weir_api::SourceObject;
use weir_api::{Artifact, Bucket, FluxObject, GitRepository, HelmChart, HelmRepository};
use weir_artifact::{Location, Opened, RelPath};
use weir_runtime::ObjectKey;

use super::HelmChartReconciler;
use crate::helm_repository::is_oci;
use crate::source::{Attempt, Failure};

/// Reason of a chart that waits for its source.
pub(super) const NO_SOURCE_ARTIFACT: &str = "NoSourceArtifact";
/// Kinds of sources that a chart may come from.
const SOURCES: [&str; 3] = [HelmRepository::KIND, GitRepository::KIND, Bucket::KIND];

/// The origin of a chart.
#[derive(Clone)]
pub(super) enum Origin {
    /// A repository with its stored index.
    Index { repository: Arc<HelmRepository>, index: Artifact },
    /// A part of a registry.
    Registry { repository: Arc<HelmRepository> },
    /// The artifact of a `GitRepository` or `Bucket`.
    Tree { artifact: Artifact },
}

impl Origin {
    /// The revision of the files that a chart is packaged from.
    pub(super) fn revision(&self) -> Option<&str> {
        match self {
            Self::Tree { artifact } => Some(&artifact.revision),
            Self::Index { .. } | Self::Registry { .. } => None,
        }
    }
}

/// Only another spec helps (SRC-CHT-2).
fn unsupported(kind: &str) -> Failure {
    let known = SOURCES.join(" ");
    let message =
        format!("failed to get source: unsupported source kind '{kind}', must be one of: [{known}]");
    Failure::fetch("SourceUnavailable", message).stalled_for("UnsupportedSourceKind")
}

impl HelmChartReconciler {
    /// Finds the source, in the chart's namespace only (SRC-SCK-6), and notes its revision.
    pub(super) async fn observe(&self, attempt: &mut Attempt<'_, HelmChart>) -> Result<Origin, Failure> {
        let reference = attempt.object.spec.source_ref.clone();
        if !SOURCES.contains(&reference.kind.as_str()) {
            return Err(unsupported(&reference.kind));
        }
        let key = ObjectKey::new(&attempt.key().namespace, &reference.name);
        let missing = || {
            let message = format!(
                "failed to get source: {}.{} \"{}\" not found",
                reference.kind,
                HelmChart::GROUP,
                reference.name
            );
            Failure::fetch("SourceUnavailable", message)
        };
        let kind = self.catalog.kind(&reference.kind).ok_or_else(missing)?;
        kind.synced().await;
        if reference.kind == HelmRepository::KIND {
            let repository = self.repositories.get(&key).ok_or_else(missing)?;
            if is_oci(&repository) {
                return Ok(Origin::Registry { repository });
            }
            let artifact = repository.artifact().cloned();
            let index = self.whole(attempt, &key, artifact).await?;
            return Ok(Origin::Index { repository, index });
        }
        let artifact = kind.get(&key).ok_or_else(missing)?.artifact;
        Ok(Origin::Tree { artifact: self.whole(attempt, &key, artifact).await? })
    }

    /// Returns the source's artifact, if its file exists and has the advertised digest.
    async fn whole(
        &self,
        attempt: &mut Attempt<'_, HelmChart>,
        key: &ObjectKey,
        artifact: Option<Artifact>,
    ) -> Result<Artifact, Failure> {
        let kind = attempt.object.spec.source_ref.kind.clone();
        let none = || {
            let message = format!("no artifact available for {kind} source '{}'", key.name);
            Failure::fetch(NO_SOURCE_ARTIFACT, message).requeued()
        };
        let artifact = artifact.ok_or_else(none)?;
        if !self.is_whole(&kind, key, &artifact).await {
            return Err(none());
        }
        let status = attempt.object.status.get_or_insert_default();
        status.observed_source_artifact_revision = Some(artifact.revision.clone());
        Ok(artifact)
    }

    /// Returns true when what a source advertises is a file of its own that is as it says: a status may be forged
    /// (SRC-SCK-15).
    pub(super) async fn is_whole(&self, kind: &str, key: &ObjectKey, artifact: &Artifact) -> bool {
        let Ok(at) = Location::new(kind, &key.namespace, &key.name) else { return false };
        let (store, path, digest) =
            (self.storage.store().clone(), artifact.path.clone(), artifact.digest.clone());
        let verified = self.storage.blocking(move || store.verify(&at, &path, &digest)).await;
        matches!(verified, Ok(Ok(())))
    }

    /// Opens the file of a source's artifact.
    pub(super) fn open(&self, artifact: &Artifact) -> std::io::Result<Opened> {
        let path = RelPath::parse(&artifact.path).map_err(std::io::Error::other)?;
        self.storage.store().open_file(&path)
    }
}
