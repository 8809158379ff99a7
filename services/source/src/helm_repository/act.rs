//! Making the artifact of a fetched index.

use std::fs::File;
use std::io::{self, Seek};

use weir_api::HelmRepository;
use weir_artifact::Digest;
use weir_artifact::archive::Sink;
use weir_helm::Fetched;
use weir_helm::index::{self, IndexError};

use super::{HelmRepositoryReconciler, decide};
use crate::source::{Attempt, Failure, NEW_REVISION, Published, Success};
use crate::storage::NewArtifact;

/// The link that always points at the newest index (SRC-HRP-6).
const LINK: &str = "index.yaml";

impl HelmRepositoryReconciler {
    /// Turns the index into the form that is stored, and stores it (SRC-HRP-5, SRC-HRP-6).
    pub(super) async fn act(
        &self,
        attempt: &mut Attempt<'_, HelmRepository>,
        fetched: Fetched,
        revision: Digest,
    ) -> Result<Success, Failure> {
        let file = format!("index-{}.yaml", revision.hex());
        let converted = self.storage.blocking(move || converted(fetched.file)).await;
        let mut index = converted
            .unwrap_or_else(|source| Err(IndexError::Io { source }))
            .map_err(|error| index_failure(&error))?;
        attempt.outdated(NEW_REVISION, &format!("new index revision '{revision}'"));
        let at = attempt.object.location().map_err(|error| Failure::storage(&error))?;
        let new = NewArtifact { at, file, link: Some(LINK) };
        let copy = move |out: &mut dyn Sink| io::copy(&mut index, out).map(drop);
        let artifact = attempt.put(&self.storage, new, revision.to_string(), copy).await;
        let artifact =
            artifact.map_err(|error| Failure::keeping("unable to save artifact to storage", &error))?;
        let message = decide::stored_event(&artifact, &attempt.object.spec.url);
        Ok(Success::new(artifact, message))
    }
}

/// The stored form of an index, at its start.
pub(crate) fn converted(raw: File) -> Result<File, IndexError> {
    let failed = |source| IndexError::Io { source };
    let mut stored = tempfile::tempfile().map_err(failed)?;
    let counts = index::convert(raw, &mut stored)?;
    tracing::debug!(?counts, "index converted");
    stored.rewind().map_err(failed)?;
    Ok(stored)
}

fn index_failure(error: &IndexError) -> Failure {
    let message = format!("failed to load Helm repository from index YAML: failed to load index: {error}");
    match error {
        IndexError::Io { .. } => Failure::disk(message),
        _ => Failure::fetch("IndexationFailed", message),
    }
}
