//! The sources of a Kustomization: artifacts as their sources advertise them (KS-SRC-1..8).

use std::sync::Arc;

use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource};
use weir_api::kustomize::CrossNamespaceSourceReference;
use weir_api::{
    Artifact, Bucket, Condition, ExternalArtifact, FluxObject, GitRepository, Kustomization, OciRepository,
    SourceObject,
};
use weir_artifact::Revision;
use weir_runtime::grpc::Access;
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
    /// The API server, when sources are read there instead (KS-SRC-8).
    pub(crate) direct: Option<Client>,
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
    /// The API server did not tell, for this reason (KS-SRC-5).
    Unreadable(String),
}

/// A source as people are told of it.
pub(crate) struct SeenSource {
    pub(crate) conditions: Vec<Condition>,
    pub(crate) has_artifact: bool,
    pub(crate) is_suspended: bool,
}

/// The identity of a source: kind, namespace and name, the namespace resolved (KS-SRC-1).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SourceId {
    pub(crate) kind: String,
    pub(crate) key: ObjectKey,
}

impl SourceId {
    pub(crate) fn of(kustomization: &Kustomization) -> Self {
        let CrossNamespaceSourceReference { kind, name, namespace, .. } = &kustomization.spec.source_ref;
        let own = kustomization.metadata.namespace.clone().unwrap_or_default();
        let key =
            ObjectKey::new(namespace.clone().filter(|text| !text.is_empty()).unwrap_or(own), name.clone());
        Self { kind: kind.clone(), key }
    }

    /// `Kind/namespace/name`
    pub(crate) fn subject(&self) -> String {
        format!("{}/{}", self.kind, self.key)
    }
}

impl Sources {
    pub(crate) async fn find(&self, id: &SourceId) -> Source {
        let artifact = match id.kind.as_str() {
            GitRepository::KIND => self.artifact_of(Some(&self.git), id).await,
            OciRepository::KIND => self.artifact_of(Some(&self.oci), id).await,
            Bucket::KIND => self.artifact_of(Some(&self.buckets), id).await,
            ExternalArtifact::KIND => self.artifact_of(self.external.as_ref(), id).await,
            _ => Ok(None),
        };
        match artifact {
            Ok(None) => Source::Missing,
            Ok(Some(None)) => Source::Empty,
            Ok(Some(Some(artifact))) => Source::Artifact(Arc::new(artifact)),
            Err(error) => Source::Unreadable(error.to_string()),
        }
    }

    /// The right that is needed to see a source, and the source if there is one; nothing for kinds that are none.
    pub(crate) fn seen(&self, id: &SourceId) -> Option<(Access, Option<SeenSource>)> {
        match id.kind.as_str() {
            GitRepository::KIND => Some(seen_in(&self.git, id)),
            OciRepository::KIND => Some(seen_in(&self.oci, id)),
            Bucket::KIND => Some(seen_in(&self.buckets, id)),
            ExternalArtifact::KIND => self.external.as_ref().map(|external| seen_in(external, id)),
            _ => None,
        }
    }

    /// The artifact of an object, if there is such an object.
    async fn artifact_of<S>(
        &self,
        cache: Option<&Cache<S>>,
        id: &SourceId,
    ) -> Result<Option<Option<Artifact>>, kube::Error>
    where
        S: SourceObject + Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        let Some(cache) = cache else { return Ok(None) };
        match &self.direct {
            None => Ok(cache.get(&id.key).map(|found| found.artifact().cloned())),
            Some(client) => {
                let api: Api<S> = Api::namespaced(client.clone(), &id.key.namespace);
                Ok(api.get_opt(&id.key.name).await?.map(|found| found.artifact().cloned()))
            }
        }
    }
}

fn seen_in<S: SourceObject>(cache: &Cache<S>, id: &SourceId) -> (Access, Option<SeenSource>) {
    let seen = cache.get(&id.key).map(|found| SeenSource {
        conditions: found.conditions().to_vec(),
        has_artifact: found.artifact().is_some(),
        is_suspended: found.is_suspended(),
    });
    (Access::to::<S>("get", &id.key), seen)
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

/// Returns true for two artifacts of one revision with the same content. The same commit gives other content when its source is told to
/// leave out other files, or includes another source.
pub(crate) fn is_same(one: &Artifact, other: &Artifact) -> bool {
    one.digest == other.digest && is_revision(Some(&one.revision), &other.revision)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;
    use weir_api::Kustomization;
    use weir_runtime::ObjectKey;

    use super::{SourceId, is_revision};

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

    #[rstest]
    #[case(json!({"kind": "Bucket", "name": "app"}), "own")]
    #[case(json!({"kind": "Bucket", "name": "app", "namespace": ""}), "own")]
    #[case(json!({"kind": "Bucket", "name": "app", "namespace": "other"}), "other")]
    fn a_source_without_a_namespace_is_in_that_of_its_kustomization(
        #[case] reference: serde_json::Value,
        #[case] namespace: &str,
    ) {
        let kustomization: Kustomization = serde_json::from_value(json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": "apps", "namespace": "own"},
            "spec": {"interval": "1m", "prune": true, "sourceRef": reference},
        }))
        .unwrap();
        let expected = SourceId { kind: "Bucket".to_owned(), key: ObjectKey::new(namespace, "app") };
        assert_eq!(SourceId::of(&kustomization), expected);
    }
}
