//! The sources of a generator, and who is woken when they change (SRC-AGN-2, SRC-AGN-4).

use std::sync::Arc;

use weir_api::source::SourceReference;
use weir_api::{
    Artifact, ArtifactGenerator, Bucket, ExternalArtifact, FluxObject, GitRepository, HelmChart,
    OciRepository, SourceObject,
};
use weir_runtime::{Cache, Cause, Change, Index, ObjectKey, Queue, Service, ServiceError};

use super::decide::{Input, key_of};
use super::failure::Failure;

/// The kinds that a generator can be made of.
#[derive(Clone)]
pub(super) struct SourceCaches {
    git: Cache<GitRepository>,
    oci: Cache<OciRepository>,
    buckets: Cache<Bucket>,
    charts: Cache<HelmChart>,
    external: Cache<ExternalArtifact>,
}

impl SourceCaches {
    /// Watches the kinds. All shards: a generator may use the sources of any.
    pub(super) async fn watch(
        service: &Service,
        external: Cache<ExternalArtifact>,
    ) -> Result<Self, ServiceError> {
        Ok(Self {
            git: service.cache().await?,
            oci: service.cache().await?,
            buckets: service.cache().await?,
            charts: service.cache().await?,
            external,
        })
    }

    /// The artifacts of all sources of a generator.
    pub(super) fn find(&self, generator: &ArtifactGenerator) -> Result<Vec<Input>, Failure> {
        let failed = |error: String| Failure::absent(format!("get sources failed: {error}"));
        let find = |source: &SourceReference| {
            let key = key_of(source, generator);
            let SourceReference { kind, name, alias, .. } = source;
            match self.artifact(kind, &key) {
                None => Err(failed(format!("{kind}.source.toolkit.fluxcd.io \"{name}\" not found"))),
                Some(None) => Err(failed(format!("source '{kind}/{key}' is not ready"))),
                Some(Some(artifact)) => Ok(Input { alias: alias.clone(), artifact }),
            }
        };
        generator.spec.sources.iter().map(find).collect()
    }

    /// The artifact of an object, if there is such an object.
    fn artifact(&self, kind: &str, key: &ObjectKey) -> Option<Option<Artifact>> {
        match kind {
            GitRepository::KIND => artifact_of(&self.git, key),
            OciRepository::KIND => artifact_of(&self.oci, key),
            Bucket::KIND => artifact_of(&self.buckets, key),
            HelmChart::KIND => artifact_of(&self.charts, key),
            ExternalArtifact::KIND => artifact_of(&self.external, key),
            _ => None,
        }
    }

    /// Lets new artifacts, and sources that go, wake the generators that are made of them, in any namespace.
    pub(super) fn wake(&self, generators: &Cache<ArtifactGenerator>, queue: &Queue) {
        let by_source = generators.index(|generator| {
            let id = |source: &SourceReference| (source.kind.clone(), key_of(source, generator));
            generator.spec.sources.iter().map(id).collect::<Vec<_>>()
        });
        wake_by(&self.git, &by_source, queue);
        wake_by(&self.oci, &by_source, queue);
        wake_by(&self.buckets, &by_source, queue);
        wake_by(&self.charts, &by_source, queue);
        wake_by(&self.external, &by_source, queue);
    }
}

fn artifact_of<S>(objects: &Cache<S>, key: &ObjectKey) -> Option<Option<Artifact>>
where
    S: SourceObject + kube::Resource<DynamicType = ()>,
{
    objects.get(key).map(|found| found.artifact().cloned())
}

fn wake_by<S>(sources: &Cache<S>, by_source: &Index<ArtifactGenerator, (String, ObjectKey)>, queue: &Queue)
where
    S: SourceObject + kube::Resource<DynamicType = ()>,
{
    let (by_source, queue) = (by_source.clone(), queue.clone());
    sources.on_change(move |change: &Change<S>| {
        let revision = |object: &Option<Arc<S>>| Some(object.as_ref()?.artifact()?.revision.clone());
        let Some(latest) = change.latest() else { return };
        let (old, new) = (revision(&change.old), revision(&change.new));
        let is_gone = change.new.is_none() && old.is_some();
        if is_gone || (new.is_some() && new != old) {
            let id = (S::KIND.to_owned(), ObjectKey::of(&**latest));
            queue.wake(by_source.naming(&id), Cause::Revision);
        }
    });
}
