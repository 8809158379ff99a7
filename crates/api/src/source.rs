//! Kinds of `source.toolkit.fluxcd.io`, where content comes from, and of `source.extensions.fluxcd.io`, which makes
//! content of content.

mod artifact_generator;
mod bucket;
mod external_artifact;
mod git_repository;
mod helm_chart;
mod helm_repository;
mod oci_repository;

pub use artifact_generator::{
    ArtifactCommonMetadata, ArtifactGenerator, ArtifactGeneratorSpec, ArtifactGeneratorStatus,
    ArtifactSource, CopyOperation, ExternalArtifactReference, OutputArtifact,
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
