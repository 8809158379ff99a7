//! From an artifact to the manifests that it stands for.

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use weir_api::Artifact;
use weir_ignore::Matcher;
use weir_kustomize::{MemoryFs, RelPath};
use weir_ssa::Manifest;

use crate::build::{self, Built};
use crate::fetch;
use crate::kustomization::KustomizationReconciler;
use crate::kustomization::decide::Extent;
use crate::kustomization::failure::{Failure, reason};
use crate::kustomization::health::timeout_of;
use crate::kustomization::memory::{Applied, Inputs};
use crate::kustomization::observe::Observed;

impl KustomizationReconciler {
    /// The files of an artifact, and the directory in them that is to be built.
    pub(super) async fn fetch(
        &self,
        observed: &Observed,
        artifact: &Artifact,
    ) -> Result<(MemoryFs, RelPath), Failure> {
        let fetched = self.artifacts.files(&observed.source_id, artifact).await;
        let files = fetched.map_err(|error| match error {
            fetch::Error::NotFound => Failure::artifact_gone(self.settings.requeue_dependency),
            error => Failure::retry(reason::ARTIFACT_FAILED, error.to_string()),
        })?;
        let mut memory = MemoryFs::new();
        for (path, file) in files {
            let inserted = memory.insert(path.as_str(), file.bytes);
            inserted.map_err(|error| Failure::retry(reason::ARTIFACT_FAILED, error.to_string()))?;
        }
        let path = observed.kustomization.spec.path.as_deref().unwrap_or_default();
        let directory = build::directory(&memory, path).ok_or_else(|| {
            let message = format!("kustomization path not found: stat {path}: no such file or directory");
            Failure::retry(reason::ARTIFACT_FAILED, message)
        })?;
        Ok((memory, directory))
    }

    /// The last apply, if a build of these files would give the same manifests and the cluster still has them.
    pub(super) fn same_build(
        &self,
        observed: &Observed,
        files: &MemoryFs,
        directory: &RelPath,
        extent: Extent,
    ) -> Option<Applied> {
        let (applied, inputs) = (observed.unit.applied.clone()?, observed.inputs.clone()?);
        let is_same =
            Inputs { artifact: applied.inputs.artifact.clone(), ..inputs.clone() } == applied.inputs;
        let may_skip = extent == Extent::Changed && observed.is_proved && !applied.is_stale();
        let spec = &observed.kustomization.spec;
        if !(is_same && may_skip && applied.footprint.still_holds(files, directory, spec)) {
            return None;
        }
        let applied = Applied { inputs, ..applied };
        self.memory.change(&weir_runtime::ObjectKey::of(&*observed.kustomization), |unit| {
            unit.applied = Some(applied.clone());
        });
        Some(applied)
    }

    /// Builds off the reactor, within the time that the object gives.
    pub(super) async fn build(
        &self,
        observed: &Observed,
        files: MemoryFs,
        directory: RelPath,
        cancel: CancellationToken,
    ) -> Result<Built, Failure> {
        let (spec, variables) = (observed.kustomization.spec.clone(), observed.variables.clone());
        let is_strict = self.settings.is_strict;
        let time = timeout_of(&observed.kustomization);
        let building = self.builds.run(time, cancel, move |remote| {
            let ignored = Matcher::default();
            build::build(build::Input { files, directory, spec, variables, is_strict, ignored, remote })
        });
        let failed = |text: String| Failure::retry(reason::BUILD_FAILED, text);
        building.await.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))
    }
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

/// KS-DEC-26
fn opts_out(object: &Value) -> bool {
    let annotation = object.pointer("/metadata/annotations/kustomize.toolkit.fluxcd.io~1decrypt");
    annotation.and_then(Value::as_str).is_some_and(|value| value.eq_ignore_ascii_case("disabled"))
}
