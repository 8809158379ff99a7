//! `ExternalArtifact` objects that this service makes for generators (SRC-AGN-8, SRC-AGN-9). Those of others are
//! nobody's business here (SRC-EXT-1).

use std::sync::Arc;

use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use weir_api::{
    ARTIFACT_GENERATOR_LABEL, Condition, ExternalArtifact, FluxObject, SourceObject, condition_type,
    reason::SUCCEEDED,
};
use weir_runtime::client::reason;
use weir_runtime::condition::{self, Writer};
use weir_runtime::{Cache, ObjectKey};

/// Field manager of the objects; the name of Flux's controller, so that either can take over from the other.
const FIELD_MANAGER: &str = "source-watcher";

/// Refusals of an object by the API server, in its words.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApplyError {
    /// Of all but its status.
    #[error("failed to apply ExternalArtifact: {0}")]
    Object(String),
    /// Of its status.
    #[error("failed to patchStatus ExternalArtifact status: {0}")]
    Status(String),
}

/// The objects of all generators. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ExternalArtifacts {
    client: Client,
    known: Cache<ExternalArtifact>,
}

impl ExternalArtifacts {
    pub(crate) fn new(client: Client, known: Cache<ExternalArtifact>) -> Self {
        Self { client, known }
    }

    /// The objects that are known.
    pub(crate) fn known(&self) -> &Cache<ExternalArtifact> {
        &self.known
    }

    /// The objects in a namespace that carry the label of the generator.
    pub(crate) fn of(&self, namespace: &str, generator: &str) -> Vec<Arc<ExternalArtifact>> {
        let mut objects = self.known.list();
        objects.retain(|object| object.namespace().as_deref() == Some(namespace) && is_of(object, generator));
        objects
    }

    /// Makes the object be as it should; nothing is asked of the API server when it is so already and `is_settled`, that
    /// is, when the generator has not changed since.
    pub(crate) async fn apply(
        &self,
        mut wanted: ExternalArtifact,
        is_settled: bool,
        now: jiff::Timestamp,
    ) -> Result<(), ApplyError> {
        let key = ObjectKey::of(&wanted);
        let known = self.known.get(&key);
        if is_settled && known.as_ref().is_some_and(|known| is_as(known, &wanted)) {
            return Ok(());
        }
        let status = wanted.status.take().unwrap_or_default();
        let api: Api<ExternalArtifact> = Api::namespaced(self.client.clone(), &key.namespace);
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let applied = api.patch(&key.name, &params, &Patch::Apply(&wanted)).await;
        let applied = applied.map_err(|error| ApplyError::Object(reason(error)))?;
        let conditions = ready(&applied, now);
        let status = json!({
            "apiVersion": format!("{}/{}", ExternalArtifact::GROUP, ExternalArtifact::VERSION),
            "kind": ExternalArtifact::KIND,
            "metadata": { "name": key.name },
            "status": { "artifact": status.artifact, "conditions": conditions },
        });
        let applied = api.patch_status(&key.name, &params, &Patch::Apply(status)).await;
        let applied = applied.map_err(|error| ApplyError::Status(reason(error)))?;
        self.known.insert(applied);
        Ok(())
    }

    /// Deletes the object, unless it belongs to another generator by now. Returns true when it is gone.
    pub(crate) async fn delete(&self, key: &ObjectKey, generator: &str) -> Result<bool, kube::Error> {
        let api: Api<ExternalArtifact> = Api::namespaced(self.client.clone(), &key.namespace);
        let Some(object) = api.get_opt(&key.name).await? else { return Ok(true) };
        if !is_of(&object, generator) {
            return Ok(false);
        }
        let preconditions = Preconditions { uid: object.uid(), resource_version: object.resource_version() };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        match api.delete(&key.name, &params).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(true),
            other => other.map(|_| true),
        }
    }
}

/// The condition of an object whose artifact is there.
fn ready(object: &ExternalArtifact, now: jiff::Timestamp) -> Vec<Condition> {
    let mut conditions = object.conditions().to_vec();
    conditions.retain(|condition| condition.type_ == condition_type::READY);
    Writer::of(object, now).ready(&mut conditions, SUCCEEDED, "Artifact is ready");
    conditions
}

fn is_of(object: &ExternalArtifact, generator: &str) -> bool {
    object.labels().get(ARTIFACT_GENERATOR_LABEL).is_some_and(|uid| uid == generator)
}

/// Returns true when all that is wanted of an object is there.
fn is_as(known: &ExternalArtifact, wanted: &ExternalArtifact) -> bool {
    let has_labels = wanted.labels().iter().all(|(key, value)| known.labels().get(key) == Some(value));
    let annotations = known.annotations();
    let has_annotations = wanted.annotations().iter().all(|(key, value)| annotations.get(key) == Some(value));
    has_labels
        && has_annotations
        && known.spec == wanted.spec
        && known.artifact() == wanted.artifact()
        && condition::is_ready(known.conditions())
}
