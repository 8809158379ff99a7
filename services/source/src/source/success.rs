//! The result of a successful run: the artifact to advertise, and the messages about it.

use weir_api::Artifact;
use weir_runtime::EventDraft;

/// A successful run. Made by one of its functions, with what else there is to say as fields.
pub(crate) struct Success {
    /// The artifact to advertise: a new one, or the one that is there.
    pub(crate) artifact: Artifact,
    /// Message of the event, sent if the artifact is new or the source has recovered.
    pub(crate) message: String,
    /// Kubernetes event of a run that finds that the artifact is up to date; sent before the event.
    pub(crate) up_to_date: Option<EventDraft>,
    /// Kubernetes event of a remote that has nothing new; sent after the event.
    pub(crate) unchanged: Option<EventDraft>,
    /// The reason of conditions and events, for kinds that have one of their own (`ChartPullSucceeded`).
    pub(crate) reason: Option<&'static str>,
}

impl Success {
    /// An artifact and the sentence about it.
    pub(crate) fn new(artifact: Artifact, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { artifact, message, up_to_date: None, unchanged: None, reason: None }
    }

    /// The artifact that is there, which is what the remote has (SRC-OCI-6, SRC-BKT-2, SRC-HRP-4).
    pub(crate) fn up_to_date(artifact: Artifact, message: impl Into<String>) -> Self {
        let told = format!("artifact up-to-date with remote revision: '{}'", artifact.revision);
        Self { up_to_date: Some(EventDraft::trace("ArtifactUpToDate", told)), ..Self::new(artifact, message) }
    }
}
