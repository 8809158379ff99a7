//! Pulling a layer and making the artifact of it.

use std::io::{self, Seek, Write};

use tempfile::SpooledTempFile;
use weir_api::OciRepository;
use weir_artifact::archive::Sink;
use weir_artifact::{Limits, Room, Unpacked, Untar};
use weir_oci::{Descriptor, Registry};

use super::OciReconciler;
use super::decide::{self, Operation};
use super::observe::{Target, pull_failure};
use crate::source::{Attempt, Failure, Published, Success, pack};
use crate::storage::NewArtifact;

/// Bytes of a layer that stay in memory; typical ones are a few KiB.
const IN_MEMORY: usize = 1 << 20;
/// Bytes of a layer that are held in memory before they go to the disk.
const BATCH: usize = 256 << 10;
/// The link that always points at the newest artifact (SRC-OCI-13).
const LATEST: &str = "latest.tar.gz";

impl OciReconciler {
    /// Pulls the layer, stores the artifact, and notes with which settings (SRC-OCI-7…13).
    pub(super) async fn act(
        &self,
        attempt: &mut Attempt<'_, OciRepository>,
        registry: &mut Registry,
        target: Target,
    ) -> Result<Success, Failure> {
        let url = attempt.object.spec.url.clone();
        let selector = attempt.object.spec.layer_selector.clone();
        let operation = decide::operation(selector.as_ref())?;
        let manifest = registry.manifest(&target.digest).await.map_err(|error| pull_failure(&url, &error))?;
        let layer = decide::layer(&manifest, selector.as_ref())?.clone();
        let content = self.pull(registry, &layer).await?;
        let mut artifact = self.store(attempt, &target, content, operation).await?;
        artifact.metadata = manifest.annotations.into_iter().collect();
        let spec = &attempt.object.spec;
        let status = attempt.object.status.get_or_insert_default();
        status.observed_ignore = spec.ignore.clone();
        status.observed_layer_selector = spec.layer_selector.clone();
        let message = decide::stored_event(&artifact, &url);
        Ok(Success::new(artifact, message))
    }

    async fn store(
        &self,
        attempt: &mut Attempt<'_, OciRepository>,
        target: &Target,
        mut content: SpooledTempFile,
        operation: Operation,
    ) -> Result<weir_api::Artifact, Failure> {
        let at = attempt.object.location().map_err(|error| Failure::storage(&error))?;
        let new = NewArtifact { at, file: format!("{}.tar.gz", target.digest), link: Some(LATEST) };
        let revision = target.revision();
        match operation {
            Operation::Copy => {
                let copy = move |out: &mut dyn Sink| io::copy(&mut content, out).map(drop);
                let stored = attempt.put(&self.storage, new, revision, copy).await;
                stored.map_err(|error| Failure::keeping("unable to copy artifact to storage", &error))
            }
            Operation::Extract => {
                let limits = self.storage.limits();
                let files = self.storage.blocking(move || extract(content, limits)).await;
                let files = files.map_err(|error| decide::layer_failure(error.to_string()))??;
                let ignore = attempt.object.spec.ignore.clone();
                let pack = move |out: &mut dyn Sink| pack(&files, ignore.as_deref(), out);
                let stored = attempt.put(&self.storage, new, revision, pack).await;
                stored.map_err(|error| Failure::storage(&error))
            }
        }
    }

    /// The whole layer, verified: nothing of it is used before its last byte was seen.
    async fn pull(&self, registry: &mut Registry, layer: &Descriptor) -> Result<SpooledTempFile, Failure> {
        let failed = |error: weir_oci::Error| {
            let message = format!("failed to extract the first layer from artifact: {error}");
            decide::layer_failure(message).after(error.retry_after())
        };
        if layer.size > IN_MEMORY as u64 {
            Room::for_temporary_files().take(layer.size).map_err(unkept)?;
        }
        let mut blob = registry.blob(layer).await.map_err(failed)?;
        let (mut content, mut pending) = (SpooledTempFile::new(IN_MEMORY), Vec::new());
        while let Some(chunk) = blob.next().await.map_err(failed)? {
            pending.extend_from_slice(&chunk);
            if pending.len() >= BATCH {
                content = self.append(content, std::mem::take(&mut pending)).await?;
            }
        }
        let mut content = self.append(content, pending).await?;
        content.rewind().map_err(unkept)?;
        Ok(content)
    }

    /// Writes to the file where nobody else has to wait for the disk.
    async fn append(&self, mut content: SpooledTempFile, bytes: Vec<u8>) -> Result<SpooledTempFile, Failure> {
        let write = move || content.write_all(&bytes).map(|()| content);
        self.storage.blocking(write).await.flatten().map_err(unkept)
    }
}

fn unkept(error: io::Error) -> Failure {
    Failure::disk(format!("failed to keep the layer that is being pulled: {error}"))
}

/// The files of a layer, without its symlinks.
fn extract(content: SpooledTempFile, limits: Limits) -> Result<Unpacked, Failure> {
    Untar::new(limits).to_tree(content).map_err(|error| {
        let message = format!("failed to extract layer contents from artifact: {error}");
        if error.is_of_disk() { Failure::disk(message) } else { decide::layer_failure(message) }
    })
}
