//! The common part of all kinds of sources: their status, their failures, the report of a run, the packing of files.

mod attempt;
mod content;
mod failure;
mod kinds;
mod reconciler;
mod report;
mod success;
mod suspended;
mod wiring;

use kube::core::NamespaceResourceScope;
use weir_api::{Artifact, Condition, SourceObject};
use weir_artifact::{Location, StoreError};

pub(crate) use self::attempt::Attempt;
use self::attempt::finalize;
pub(crate) use self::content::{matcher, pack, pack_after, sparse};
pub(crate) use self::failure::Failure;
pub(crate) use self::reconciler::SourceReconciler;
use self::report::{Report, known_artifact, progress, remarks_of_store};
pub(crate) use self::success::Success;
use self::suspended::{kept, suspended};
pub(crate) use self::wiring::Wiring;

/// Reason of `ArtifactOutdated` when the origin has something new.
pub(crate) const NEW_REVISION: &str = "NewRevision";

/// Time for remote operations when the object does not say (SRC-TYP-3).
pub(crate) const DEFAULT_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(60);

/// A kind whose objects advertise an artifact that lies here.
pub(crate) trait Published:
    SourceObject + kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
{
    /// Returns the place of the object's files.
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

impl<K> Published for K where
    K: SourceObject + kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
{
}

/// A kind of source: what is published is fetched from somewhere, by [`Attempt`]s of a [`SourceReconciler`].
pub(crate) trait Source: Published {
    /// The parts of the status that every kind has.
    fn status_mut(&mut self) -> StatusParts<'_>;

    /// `spec.timeout`, or its default.
    fn timeout(&self) -> std::time::Duration;
}

/// Mutable parts of a status.
pub(crate) struct StatusParts<'a> {
    pub(crate) conditions: &'a mut Vec<Condition>,
    pub(crate) artifact: &'a mut Option<Artifact>,
    pub(crate) observed_generation: &'a mut i64,
    /// `status.url`, for kinds that have it.
    pub(crate) url: Option<&'a mut Option<String>>,
}
