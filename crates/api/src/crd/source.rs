//! Older versions of the source kinds (SRC 1.2).

use serde_json::json;

use super::edit::Edit::{self, Allow, Put, Remove, Require, Set, Unset};
use super::{CrdError, Definition, Older, definition, schema_of, string};
use crate::schema::pattern;
use crate::{
    AccessFrom, ArtifactGenerator, Bucket, ExternalArtifact, GitRepository, HelmChart, HelmRepository,
    OciRepository,
};

mod bucket;
mod helm;

const COMPONENT: &str = "source-controller";
/// Flux's controller of ArtifactGenerators; the stock commands look for this name.
const GENERATOR_COMPONENT: &str = "source-watcher";

pub(super) fn definitions() -> Result<Vec<Definition>, CrdError> {
    Ok(vec![
        definition::<GitRepository>(
            COMPONENT,
            vec![
                Older::new("v1beta2", git_v1beta2()),
                Older::new("v1beta1", git_v1beta2().into_iter().chain(git_v1beta1())),
            ],
        )?,
        definition::<OciRepository>(COMPONENT, vec![Older::new("v1beta2", oci_v1beta2())])?,
        definition::<Bucket>(
            COMPONENT,
            vec![
                Older::new("v1beta2", bucket::v1beta2()),
                Older::new("v1beta1", bucket::v1beta2().into_iter().chain(bucket::v1beta1())),
            ],
        )?,
        definition::<HelmRepository>(
            COMPONENT,
            vec![
                Older::new("v1beta2", helm::repository_v1beta2()),
                Older::new(
                    "v1beta1",
                    helm::repository_v1beta2().into_iter().chain(helm::repository_v1beta1()),
                ),
            ],
        )?,
        definition::<HelmChart>(
            COMPONENT,
            vec![
                Older::new("v1beta2", helm::chart_v1beta2()),
                Older::new("v1beta1", helm::chart_v1beta2().into_iter().chain(helm::chart_v1beta1())),
            ],
        )?,
        definition::<ExternalArtifact>(COMPONENT, vec![])?,
        definition::<ArtifactGenerator>(GENERATOR_COMPONENT, vec![])?,
    ])
}

/// Returns the additions of v1beta2 to the artifact of most kinds.
fn status_artifact_v1beta2() -> [Edit; 3] {
    artifact_v1beta2("status.artifact.checksum", "status.artifact.digest", "status.artifact.revision")
}

/// Returns the fields that the artifact of most kinds lacked in v1beta1.
fn status_artifact_v1beta1() -> [Edit; 3] {
    [Remove("status.artifact.digest"), Remove("status.artifact.size"), Remove("status.artifact.metadata")]
}

/// The durations of v1beta1, which had no pattern.
fn durations_v1beta1() -> [Edit; 2] {
    [
        Set("spec.interval", "pattern", json!(pattern::GO_DURATION)),
        Set("spec.timeout", "pattern", json!(pattern::GO_DURATION)),
    ]
}

/// The artifact of v1beta2 may have a checksum in place of a digest.
fn artifact_v1beta2(checksum: &'static str, digest: &'static str, revision: &'static str) -> [Edit; 3] {
    [Put(checksum, string("Deprecated: Use digest instead.")), Allow(digest), Allow(revision)]
}

fn git_v1beta2() -> Vec<Edit> {
    let mut edits = vec![
        Put(
            "spec.gitImplementation",
            json!({
                "type": "string",
                "enum": ["go-git", "libgit2"],
                "default": "go-git",
                "description": "Deprecated: Not used, there is one implementation.",
            }),
        ),
        Put("spec.accessFrom", schema_of::<AccessFrom>()),
        Unset("spec", "x-kubernetes-validations"),
        Remove("spec.provider"),
        Remove("spec.serviceAccountName"),
        Remove("spec.proxySecretRef"),
        Remove("spec.sparseCheckout"),
        Set("spec.verify.mode", "enum", json!(["head"])),
        Unset("spec.verify.mode", "default"),
        Require("spec.verify.mode"),
        Put("status.url", string("URL is the download link of the artifact.")),
        Put("status.contentConfigChecksum", string("Checksum of the configuration of the content.")),
        Remove("status.observedSparseCheckout"),
        Remove("status.sourceVerificationMode"),
    ];
    edits.extend(status_artifact_v1beta2());
    edits.extend(artifact_v1beta2(
        "status.includedArtifacts[].checksum",
        "status.includedArtifacts[].digest",
        "status.includedArtifacts[].revision",
    ));
    edits
}

fn git_v1beta1() -> Vec<Edit> {
    let mut edits = vec![
        Remove("spec.ref.name"),
        Allow("spec.verify.secretRef"),
        Remove("status.contentConfigChecksum"),
        Remove("status.observedIgnore"),
        Remove("status.observedRecurseSubmodules"),
        Remove("status.observedInclude"),
        Remove("status.includedArtifacts[].digest"),
        Remove("status.includedArtifacts[].size"),
        Remove("status.includedArtifacts[].metadata"),
    ];
    edits.extend(durations_v1beta1());
    edits.extend(status_artifact_v1beta1());
    edits
}

fn oci_v1beta2() -> Vec<Edit> {
    let mut edits =
        vec![Put("status.contentConfigChecksum", string("Checksum of the configuration of the content."))];
    edits.extend(status_artifact_v1beta2());
    edits
}
