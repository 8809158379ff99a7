//! Kinds of `source.toolkit.fluxcd.io`, where content comes from, and of `source.extensions.fluxcd.io`, which makes
//! content of content.

use crate::{Artifact, FluxObject};

mod artifact_generator;
mod bucket;
mod external_artifact;
mod git_repository;
mod helm_chart;
mod helm_repository;
mod oci_repository;

pub use artifact_generator::{
    ArtifactCommonMetadata, ArtifactGenerator, ArtifactGeneratorSpec, ArtifactGeneratorStatus, CopyOperation,
    ExternalArtifactReference, OutputArtifact, SourceReference,
};
pub use bucket::{Bucket, BucketSpec, BucketStatus, BucketSts};
pub use external_artifact::{
    ExternalArtifact, ExternalArtifactSourceReference, ExternalArtifactSpec, ExternalArtifactStatus,
};
pub use git_repository::{
    GitRepository, GitRepositoryInclude, GitRepositoryRef, GitRepositorySpec, GitRepositoryStatus,
    GitRepositoryVerification,
};
pub use helm_chart::{HelmChart, HelmChartSourceReference, HelmChartSpec, HelmChartStatus};
pub use helm_repository::{HelmRepository, HelmRepositorySpec, HelmRepositoryStatus};
pub use oci_repository::{
    OciLayerSelector, OciRepository, OciRepositoryRef, OciRepositorySpec, OciRepositoryStatus,
    OciRepositoryVerification, OidcIdentityMatch,
};

/// A kind that advertises an artifact: what others can be made of.
pub trait SourceObject: FluxObject {
    /// The artifact, if there is one. It may be older than the spec (KS-SRC-7).
    fn artifact(&self) -> Option<&Artifact>;
}

macro_rules! source_object {
    ($($kind:ty),*) => {$(
        impl SourceObject for $kind {
            fn artifact(&self) -> Option<&Artifact> {
                self.status.as_ref()?.artifact.as_ref()
            }
        }
    )*};
}

source_object!(GitRepository, OciRepository, Bucket, HelmRepository, HelmChart, ExternalArtifact);
