//! Kinds of `source.toolkit.fluxcd.io`: where content comes from.

mod git_repository;
mod oci_repository;

pub use git_repository::{
    GitRepository, GitRepositoryInclude, GitRepositoryRef, GitRepositorySpec, GitRepositoryStatus,
    GitRepositoryVerification,
};
pub use oci_repository::{
    OciLayerSelector, OciRepository, OciRepositoryRef, OciRepositorySpec, OciRepositoryStatus,
    OciRepositoryVerification, OidcIdentityMatch,
};
