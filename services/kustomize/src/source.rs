//! The sources of a Kustomization: artifacts as their sources advertise them (KS-SRC-1..8).

use std::sync::Arc;

use weir_api::kustomize::CrossNamespaceSourceReference;
use weir_api::{
    Artifact, Bucket, ExternalArtifact, GitRepository, Kustomization, OciRepository, SourceObject,
};
use weir_artifact::Revision;
use weir_runtime::{Cache, ObjectKey};

/// Metadata of an artifact with the revision that it was made from.
const ORIGIN_REVISION: &str = "org.opencontainers.image.revision";

/// The watch caches of the kinds of source that exist.
#[derive(Clone)]
pub(crate) struct Sources {
    pub(crate) git: Cache<GitRepository>,
    pub(crate) oci: Cache<OciRepository>,
    pub(crate) buckets: Cache<Bucket>,
    /// Not watched while the feature gate of the kind is off (KS-SRC-3).
    pub(crate) external: Option<Cache<ExternalArtifact>>,
}

/// A source, looked up.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    /// There is no such object.
    Missing,
    /// It has not produced anything yet.
    Empty,
    /// The source has produced this artifact. It need not be Ready (KS-SRC-7).
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
            "GitRepository" => artifact_of(&self.git, id),
            "OCIRepository" => artifact_of(&self.oci, id),
            "Bucket" => artifact_of(&self.buckets, id),
            "ExternalArtifact" => self.external.as_ref().and_then(|external| artifact_of(external, id)),
            _ => None,
        };
        match artifact {
            None => Source::Missing,
            Some(None) => Source::Empty,
            Some(Some(artifact)) => Source::Artifact(Arc::new(artifact)),
        }
    }
}

/// The artifact of an object, if there is such an object.
fn artifact_of<S>(objects: &Cache<S>, id: &SourceId) -> Option<Option<Artifact>>
where
    S: SourceObject + kube::Resource<DynamicType = ()>,
{
    objects.get(&id.key).map(|found| found.artifact().cloned())
}

/// Returns the revision that an artifact was made from elsewhere, if it names one.
pub(crate) fn origin_revision(artifact: &Artifact) -> Option<&str> {
    artifact.metadata.get(ORIGIN_REVISION).map(String::as_str).filter(|revision| !revision.is_empty())
}

/// Returns true when a revision that a status remembers is that of an artifact. Statuses that Flux wrote before 0.40
/// have it in another format, which is no news (SRC-TYP-7).
pub(crate) fn is_revision(remembered: Option<&str>, revision: &str) -> bool {
    remembered.is_some_and(|it| it == revision || Revision::normalise(it) == Revision::normalise(revision))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::is_revision;

    const SHA: &str = "05770d51bf5487f95e421df60813d6c8bd5c4b63";

    #[rstest]
    #[case(format!("main/{SHA}"), true)]
    #[case(format!("main@sha1:{SHA}"), true)]
    #[case(format!("develop/{SHA}"), false)]
    #[case(format!("main/{}", SHA.replace('0', "1")), false)]
    fn an_old_format_is_no_new_revision(#[case] remembered: String, #[case] expected: bool) {
        assert_eq!(is_revision(Some(&remembered), &format!("main@sha1:{SHA}")), expected);
        assert!(!is_revision(None, "main"));
    }
}
