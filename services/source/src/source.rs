//! What all kinds of sources have in common: their status, their failures, how a run is reported, what is packed.

mod attempt;
mod content;
mod failure;
mod report;

pub(crate) use attempt::{Attempt, finalize};
pub(crate) use content::{pack, sparse};
pub(crate) use failure::{Failure, Severity};
pub(crate) use report::{Success, shown_suspended};

use report::{Report, known_artifact, progress};

use kube::core::NamespaceResourceScope;
use weir_api::{Artifact, Condition, Duration, FluxObject, GitRepository, OciRepository};
use weir_artifact::{Location, StoreError};

/// Time for remote operations when the object does not say (SRC-TYP-3).
pub(crate) const DEFAULT_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(60);

/// A kind of source.
pub(crate) trait Source:
    FluxObject + kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
{
    /// The object's artifact.
    fn artifact(&self) -> Option<&Artifact>;

    /// The parts of the status that every kind has.
    fn status_mut(&mut self) -> StatusParts<'_>;

    /// What `ArtifactInStorage`, and with it Ready, says of a stored artifact.
    fn stored_message(revision: &str) -> String;

    /// `spec.timeout`, or its default.
    fn timeout(&self) -> std::time::Duration;

    /// Where the object's files lie.
    ///
    /// # Errors
    /// When namespace or name are no path components, which the API server does not let happen.
    fn location(&self) -> Result<Location, StoreError> {
        let meta = self.meta();
        let namespace = meta.namespace.as_deref().unwrap_or_default();
        let name = meta.name.as_deref().unwrap_or_default();
        Location::new(Self::KIND, namespace, name).map_err(|source| StoreError::Path { source })
    }
}

/// Mutable parts of a status.
pub(crate) struct StatusParts<'a> {
    pub(crate) conditions: &'a mut Vec<Condition>,
    pub(crate) artifact: &'a mut Option<Artifact>,
    pub(crate) observed_generation: &'a mut i64,
    /// `status.url`, for kinds that have it.
    pub(crate) url: Option<&'a mut Option<String>>,
}

impl Source for GitRepository {
    fn artifact(&self) -> Option<&Artifact> {
        self.status.as_ref()?.artifact.as_ref()
    }

    fn status_mut(&mut self) -> StatusParts<'_> {
        let status = self.status.get_or_insert_default();
        StatusParts {
            conditions: &mut status.conditions,
            artifact: &mut status.artifact,
            observed_generation: &mut status.observed_generation,
            url: None,
        }
    }

    fn stored_message(revision: &str) -> String {
        format!("stored artifact for revision '{revision}'")
    }

    fn timeout(&self) -> std::time::Duration {
        self.spec.timeout.map_or(DEFAULT_TIMEOUT, Duration::to_std)
    }
}

impl Source for OciRepository {
    fn artifact(&self) -> Option<&Artifact> {
        self.status.as_ref()?.artifact.as_ref()
    }

    fn status_mut(&mut self) -> StatusParts<'_> {
        let status = self.status.get_or_insert_default();
        StatusParts {
            conditions: &mut status.conditions,
            artifact: &mut status.artifact,
            observed_generation: &mut status.observed_generation,
            url: Some(&mut status.url),
        }
    }

    fn stored_message(revision: &str) -> String {
        format!("stored artifact for digest '{revision}'")
    }

    fn timeout(&self) -> std::time::Duration {
        self.spec.timeout.map_or(DEFAULT_TIMEOUT, Duration::to_std)
    }
}
