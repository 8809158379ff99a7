//! `ArtifactGenerator` (SRC 10): artifacts made of artifacts.
//!
//! ```text
//!  sources ──► inputs (artifacts) ──► decide (refuse, wait, nothing to do, build) ──► act ──► report
//!                                                                                    │
//!       fetch, unpack ──► path_pattern ──► stage (copy operations) ──► Storage ──► ExternalArtifact objects
//! ```

mod act;
mod decide;
mod failure;
pub mod glob;
mod inputs;
mod name;
mod path_pattern;
mod placeholder;
mod report;
mod selection;
mod source_tree;
mod stage;
mod start;

use std::collections::BTreeSet;
use std::time::Duration;

use kube::ResourceExt;
use weir_api::source::ExternalArtifactReference;
use weir_api::{
    ARTIFACT_GENERATOR_FINALIZER, Artifact, ArtifactGenerator, ExternalArtifact, FluxObject, SourceObject,
};
use weir_artifact::Location;
use weir_artifact::fetch::Fetcher;
use weir_runtime::{EventDraft, Finalized, ObjectKey, Outcome, Reconciler, Run};

use self::decide::Stored;
use self::failure::Failure;
use self::inputs::SourceCaches;
use self::report::Done;
pub(crate) use self::start::start;
use crate::external_artifact::ExternalArtifacts;
use crate::storage::{Found, Storage};

/// Settings for generators: the flags of Flux's own controller of the kind.
#[derive(Debug, Clone)]
struct GeneratorSettings {
    /// Refuse sources of other namespaces.
    no_cross_namespace_refs: bool,
    /// Time after which sources that are not there are looked for again.
    requeue_dependency: Duration,
    /// Time for one run.
    timeout: Duration,
}

/// Keeps the artifacts of generators equal to what their sources and copy operations make.
struct GeneratorReconciler {
    sources: SourceCaches,
    external: ExternalArtifacts,
    fetcher: Fetcher,
    storage: Storage,
    settings: GeneratorSettings,
}

impl Reconciler for GeneratorReconciler {
    type Object = ArtifactGenerator;

    const FINALIZER_NAME: &'static str = ARTIFACT_GENERATOR_FINALIZER;

    async fn reconcile(&self, run: Run<ArtifactGenerator>) -> Outcome<ArtifactGenerator> {
        let limit = self.settings.timeout;
        let work = tokio::time::timeout(limit, self.bring_up_to_date(&run));
        let result = match run.cancel.run_until_cancelled(work).await {
            None => return Outcome::superseded(ArtifactGenerator::clone(&run.object)),
            Some(Ok(result)) => result,
            Some(Err(_)) => {
                let limit = weir_api::Duration::from(limit);
                Err(Failure::retried(
                    "ReconciliationFailed",
                    format!("reconciliation took longer than {limit}"),
                ))
            }
        };
        report::outcome(&run, result, self.settings.requeue_dependency)
    }

    async fn suspended(&self, object: &ArtifactGenerator) -> Option<ArtifactGenerator> {
        report::paused(object, jiff::Timestamp::now())
    }

    fn suspended_event(_: &ArtifactGenerator) -> Option<EventDraft> {
        Some(report::paused_event())
    }

    async fn finalize(&self, run: Run<ArtifactGenerator>) -> Finalized<ArtifactGenerator> {
        match self.remove(&run.object, &BTreeSet::new()).await {
            Ok(()) => Finalized::Done { events: Vec::new() },
            Err(message) => Finalized::Retry {
                object: None,
                events: vec![EventDraft::error("GarbageCollectionFailed", message)],
            },
        }
    }
}

impl GeneratorReconciler {
    async fn bring_up_to_date(&self, run: &Run<ArtifactGenerator>) -> Result<Done, Failure> {
        let generator = &*run.object;
        decide::validate(generator, self.settings.no_cross_namespace_refs)?;
        let inputs = self.sources.find(generator)?;
        let sources_digest = decide::sources_digest(&inputs);
        let objects = self.objects(generator);
        let stored = self.stored(generator, &objects).await;
        let Some(drift) = decide::drift(generator, &sources_digest, &stored, &objects) else {
            return Ok(Done::Unchanged);
        };
        run.phase(report::IN_PROGRESS, report::IN_PROGRESS);
        tracing::debug!(key = %run.key, ?drift, "artifacts are built");
        let made = self.build(run, &inputs).await?;
        Ok(Done::Built { made, sources_digest })
    }

    /// Looks for the files of the inventory; those that are broken go, and so do old ones. A status may be forged: what is
    /// not of an object of this generator is not there (SRC-SCK-15).
    async fn stored(&self, generator: &ArtifactGenerator, objects: &[(ObjectKey, String)]) -> Vec<Stored> {
        let mut all = Vec::new();
        for entry in generator.status.iter().flat_map(|status| &status.inventory) {
            let ExternalArtifactReference { namespace, name, digest, filename } = entry;
            let is_own = |(key, _): &(ObjectKey, String)| key.namespace == *namespace && key.name == *name;
            let at = Location::new(ExternalArtifact::KIND, namespace, name).ok();
            let Some(at) = at.filter(|_| objects.iter().any(is_own)) else {
                all.push(Stored::Missing);
                continue;
            };
            let path = at.file(filename).map(|path| path.to_string()).unwrap_or_default();
            let artifact = Artifact { path, digest: digest.clone(), ..Artifact::default() };
            all.push(match self.storage.inspect(&at, Some(&artifact)).await.0 {
                Found::Whole => Stored::Whole,
                Found::Nothing | Found::Missing => Stored::Missing,
                // Made again in either case; one that cannot be read is replaced by that.
                Found::Broken { .. } | Found::Unreadable { .. } => Stored::Broken,
            });
        }
        all
    }

    /// The objects that carry the generator's label, with the digests that they advertise.
    fn objects(&self, generator: &ArtifactGenerator) -> Vec<(ObjectKey, String)> {
        let namespace = generator.namespace().unwrap_or_default();
        let objects = self.external.of(&namespace, &generator.uid().unwrap_or_default());
        let digest =
            |object: &ExternalArtifact| object.artifact().map(|it| it.digest.clone()).unwrap_or_default();
        objects.iter().map(|object| (ObjectKey::of(&**object), digest(object))).collect()
    }
}
