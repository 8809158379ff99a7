//! What a Kustomization is made from: artifacts as their sources advertise them (KS-SRC-1..8).

use std::sync::Arc;

use weir_api::kustomize::CrossNamespaceSourceReference;
use weir_api::{Artifact, GitRepository, Kustomization, OciRepository};
use weir_runtime::{Cache, ObjectKey};

/// Metadata of an artifact with the revision that it was made from.
const ORIGIN_REVISION: &str = "org.opencontainers.image.revision";

/// The watch caches of the kinds of source that exist.
#[derive(Clone)]
pub(crate) struct Sources {
    pub(crate) git: Cache<GitRepository>,
    pub(crate) oci: Cache<OciRepository>,
}

/// A source, looked up.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    /// There is no such object.
    Missing,
    /// It has not produced anything yet.
    Empty,
    /// It has produced this. Whether it is Ready does not matter (KS-SRC-7).
    Artifact(Arc<Artifact>),
}

/// Which source: kind, namespace and name, the namespace resolved (KS-SRC-1).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SourceId {
    pub(crate) kind: String,
    pub(crate) key: ObjectKey,
}

impl SourceId {
    pub(crate) fn of(kustomization: &Kustomization) -> Self {
        let CrossNamespaceSourceReference { kind, name, namespace, .. } = &kustomization.spec.source_ref;
        let own = kustomization.metadata.namespace.clone().unwrap_or_default();
        let key = ObjectKey::new(namespace.clone().unwrap_or(own), name.clone());
        Self { kind: kind.clone(), key }
    }

    /// `Kind/namespace/name`
    pub(crate) fn subject(&self) -> String {
        format!("{}/{}", self.kind, self.key)
    }
}

impl Sources {
    pub(crate) fn find(&self, id: &SourceId) -> Source {
        let artifact = match id.kind.as_str() {
            "GitRepository" => self.git.get(&id.key).map(|found| artifact_of_git(&found)),
            "OCIRepository" => self.oci.get(&id.key).map(|found| artifact_of_oci(&found)),
            _ => None,
        };
        match artifact {
            None => Source::Missing,
            Some(None) => Source::Empty,
            Some(Some(artifact)) => Source::Artifact(Arc::new(artifact)),
        }
    }
}

pub(crate) fn artifact_of_git(repository: &GitRepository) -> Option<Artifact> {
    repository.status.as_ref()?.artifact.clone()
}

pub(crate) fn artifact_of_oci(repository: &OciRepository) -> Option<Artifact> {
    repository.status.as_ref()?.artifact.clone()
}

/// The revision that an artifact was made from elsewhere, if it says so.
pub(crate) fn origin_revision(artifact: &Artifact) -> Option<&str> {
    artifact.metadata.get(ORIGIN_REVISION).map(String::as_str).filter(|revision| !revision.is_empty())
}
