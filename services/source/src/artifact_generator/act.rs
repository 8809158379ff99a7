//! Fetching the sources, building the artifacts, and keeping the objects that advertise them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use kube::ResourceExt;
use kube::core::ObjectMeta;
use weir_api::source::{
    ExternalArtifactReference, ExternalArtifactSourceReference, ExternalArtifactSpec, ExternalArtifactStatus,
};
use weir_api::{
    ARTIFACT_GENERATOR_LABEL, Artifact, ArtifactGenerator, ExternalArtifact, FluxObject, SourceObject,
};
use weir_artifact::archive::{self, Sink, walk};
use weir_artifact::{
    Algorithm, DirectoryTree, Hasher, Limits, Location, RelPath, Tree, TreeKind, WorkFolder,
};
use weir_ignore::Rules;
use weir_runtime::client::reason;
use weir_runtime::{ObjectKey, Run};

use super::GeneratorReconciler;
use super::decide::{Input, ORIGIN_REVISION, origin_revision};
use super::failure::Failure;
use super::path_pattern::{self, Request};
use super::source_tree::SourceTree;
use super::stage::{Sources, stage};
use crate::storage::NewArtifact;

/// Sources that are downloaded at once: enough to hide latency, few enough to leave the network to others.
const FETCHES: usize = 4;
/// Artifacts that are built at once: while one waits for the API server, others are copied and compressed.
const BUILDS: usize = 4;
/// Buffer for hashing a staged file.
const READ_BUFFER: usize = 64 * 1024;

const BUILD_FAILED: &str = "BuildFailed";
const RECONCILIATION_FAILED: &str = "ReconciliationFailed";
const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";
const MANAGED_BY: &str = "source-watcher";

/// Sources on disk; the directories go with the last one that uses them.
struct Unpacked {
    trees: Sources,
    _directories: Vec<WorkFolder>,
}

/// An artifact that is stored and advertised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) entry: ExternalArtifactReference,
    pub(super) revision: String,
}

/// One artifact before it is stored.
struct Staged {
    directory: WorkFolder,
    file: String,
}

impl GeneratorReconciler {
    /// Builds all artifacts and removes those that are no longer wanted (SRC-AGN-7…9).
    pub(super) async fn build(
        &self,
        run: &Run<ArtifactGenerator>,
        inputs: &[Input],
    ) -> Result<Vec<Made>, Failure> {
        let sources = Arc::new(self.fetch(inputs).await?);
        let requests = self.requests(&run.object, &sources).await?;
        let making = requests.into_iter().map(|request| self.make(run, inputs, &sources, request));
        let mut making = stream::iter(making).buffered(BUILDS);
        let mut made = Vec::new();
        while let Some(result) = making.next().await {
            match result {
                Ok(artifact) => made.push(artifact),
                // Objects made after it are found by their label.
                Err(failure) => return Err(Failure { made, ..failure }),
            }
        }
        let kept: BTreeSet<ObjectKey> = made.iter().map(|made| key_of(&made.entry)).collect();
        match self.remove(&run.object, &kept).await {
            Ok(()) => Ok(made),
            Err(message) => Err(Failure { made, ..Failure::retried(RECONCILIATION_FAILED, message) }),
        }
    }

    /// Downloads and unpacks the sources, each into a directory of its own.
    async fn fetch(&self, inputs: &[Input]) -> Result<Unpacked, Failure> {
        let failed = |error: String| Failure::waiting(format!("fetch sources failed: {error}"));
        // Owned, so that the downloads borrow nothing.
        let wanted: Vec<Input> = inputs.to_vec();
        let downloads = wanted.into_iter().map(|Input { alias, artifact }| {
            let fetcher = self.fetcher.clone();
            async move {
                let directory = fetcher.directory(&artifact.url, &artifact.digest).await;
                directory.map(|directory| (alias, directory))
            }
        });
        let downloaded: Vec<(String, WorkFolder)> = stream::iter(downloads)
            .buffered(FETCHES)
            .try_collect()
            .await
            .map_err(|error| failed(error.to_string()))?;
        let open = move || {
            let mut trees = Sources::new();
            for (alias, directory) in &downloaded {
                trees.insert(alias.clone(), SourceTree::open(directory.path())?);
            }
            let directories = downloaded.into_iter().map(|(_, directory)| directory).collect();
            Ok(Unpacked { trees, _directories: directories })
        };
        self.storage.blocking(open).await.flatten().map_err(|error: io::Error| failed(error.to_string()))
    }

    /// The artifacts that the spec asks for.
    async fn requests(
        &self,
        generator: &ArtifactGenerator,
        sources: &Arc<Unpacked>,
    ) -> Result<Vec<Request>, Failure> {
        let outputs = generator.spec.output_artifacts.clone();
        let Some(text) = generator.spec.path_pattern.clone().filter(|pattern| !pattern.is_empty()) else {
            let plain = |artifact| Request { artifact, labels: BTreeMap::new() };
            return Ok(outputs.into_iter().map(plain).collect());
        };
        let sources = Arc::clone(sources);
        let expanded =
            self.storage.blocking(move || path_pattern::expand(&text, &sources.trees, &outputs)).await;
        let failed =
            |error: String| Failure::stalled(BUILD_FAILED, format!("failed to expand path pattern: {error}"));
        expanded.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))
    }

    /// Builds and stores one artifact and brings its object up to date.
    async fn make(
        &self,
        run: &Run<ArtifactGenerator>,
        inputs: &[Input],
        sources: &Arc<Unpacked>,
        request: Request,
    ) -> Result<Made, Failure> {
        let name = request.artifact.name.clone();
        let not_built = |error: &dyn std::fmt::Display| {
            Failure::retried(BUILD_FAILED, format!("{name} build failed: {error}"))
        };
        let namespace = run.key.namespace.clone();
        let at =
            Location::new(ExternalArtifact::KIND, &namespace, &name).map_err(|error| not_built(&error))?;
        let (operations, sources) = (request.artifact.copy.clone(), Arc::clone(sources));
        let limits = self.storage.limits();
        let staged = self.storage.blocking(move || staged(&sources.trees, &operations, limits)).await;
        let Staged { directory, file } =
            staged.map_err(|error| not_built(&error))?.map_err(|error| not_built(&error))?;
        let new = NewArtifact { at, file: file.clone(), link: None };
        let pack = move |out: &mut dyn Sink| pack(&directory, out);
        let stored = self.storage.put(new, String::new(), run.now, pack).await;
        let mut artifact = stored.map_err(|error| not_built(&error))?.artifact;
        describe(&mut artifact, &request, inputs);
        let key = ObjectKey::new(namespace, &name);
        if let Some(known) = self.external.known().get(&key)
            && let Some(known) = known.artifact().filter(|known| known.digest == artifact.digest)
        {
            // The same file, written again.
            artifact.last_update_time = known.last_update_time.clone();
        }
        let entry = ExternalArtifactReference {
            name: key.name.clone(),
            namespace: key.namespace.clone(),
            digest: artifact.digest.clone(),
            filename: file,
        };
        let revision = artifact.revision.clone();
        let is_settled = run.object.metadata.generation == Some(run.object.observed_generation());
        let wanted = external_artifact(&run.object, key, request.labels, artifact);
        let applied = self.external.apply(wanted, is_settled, run.now).await;
        applied.map_err(|error| {
            Failure::retried(RECONCILIATION_FAILED, format!("{} reconcile failed: {error}", entry.name))
        })?;
        Ok(Made { entry, revision })
    }

    /// Removes the files and objects of a generator except those in `kept` (SRC-AGN-9). A status is trusted only as
    /// far as the object that it names still carries the generator's label, or is gone (SRC-SCK-15).
    pub(super) async fn remove(
        &self,
        generator: &ArtifactGenerator,
        kept: &BTreeSet<ObjectKey>,
    ) -> Result<(), String> {
        let namespace = generator.namespace().unwrap_or_default();
        let uid = generator.uid().unwrap_or_default();
        let inventory = generator.status.iter().flat_map(|status| &status.inventory).map(key_of);
        let labelled = self.external.of(&namespace, &uid).into_iter().map(|object| ObjectKey::of(&*object));
        let mut all: BTreeSet<ObjectKey> = inventory.chain(labelled).collect();
        all.retain(|key| key.namespace == namespace && !kept.contains(key));
        for key in all {
            let failed =
                |error: &dyn std::fmt::Display| format!("failed to remove ExternalArtifact/{key}: {error}");
            let is_gone = self.external.delete(&key, &uid).await.map_err(|error| failed(&reason(error)))?;
            if let (true, Ok(at)) =
                (is_gone, Location::new(ExternalArtifact::KIND, &key.namespace, &key.name))
            {
                self.storage.remove_object(&at).await.map_err(|error| failed(&error))?;
            }
        }
        Ok(())
    }
}

fn key_of(entry: &ExternalArtifactReference) -> ObjectKey {
    ObjectKey::new(&entry.namespace, &entry.name)
}

fn staged(
    sources: &Sources,
    operations: &[weir_api::source::CopyOperation],
    limits: Limits,
) -> Result<Staged, String> {
    let directory = WorkFolder::new().map_err(|error| format!("failed to create staging dir: {error}"))?;
    stage(sources, operations, directory.path(), limits)
        .map_err(|error| format!("failed to apply copy operations: {error}"))?;
    let hash = content_hash(&directory).map_err(|error| format!("failed to hash staging dir: {error}"))?;
    Ok(Staged { directory, file: format!("{hash}.tar.gz") })
}

/// SHA-256 of names, kinds and contents: the file name of the artifact (deviation 15).
fn content_hash(directory: &WorkFolder) -> io::Result<String> {
    let tree = DirectoryTree::open_path(directory.path())?;
    let mut hasher = Hasher::new(Algorithm::Sha256);
    let mut buffer = vec![0; READ_BUFFER];
    walk(&tree, |path: &RelPath, kind| {
        let (mark, file) = match kind {
            TreeKind::File { executable } => (if executable { b"x" } else { b"f" }, Some(tree.open(path)?)),
            TreeKind::Directory | TreeKind::Other => (b"d", None),
        };
        hasher.update(mark);
        hasher.update(path.as_str().as_bytes());
        let Some(mut file) = file else {
            hasher.update(&[0]);
            return Ok(());
        };
        hasher.update(format!("\0{}\0", file.size).as_bytes());
        loop {
            let count = file.reader.read(&mut buffer)?;
            if count == 0 {
                return Ok(());
            }
            hasher.update(buffer.get(..count).unwrap_or_default());
        }
    })?;
    Ok(hasher.finish().hex().to_owned())
}

/// Images, archives and files of CI systems stay out, whatever the sources bring along (SRC-AGN-18).
fn pack(directory: &WorkFolder, out: &mut dyn io::Write) -> io::Result<()> {
    let matcher = Rules::default().into_matcher();
    let tree = DirectoryTree::open_path(directory.path())?;
    archive::write(&tree, &|path, is_directory| !matcher.excludes(path.as_str(), is_directory), out)
}

/// Writes revision and origin of the artifact from its sources (SRC-AGN-7).
fn describe(artifact: &mut Artifact, request: &Request, inputs: &[Input]) {
    let source = |reference: &Option<String>| {
        let alias = reference.as_deref()?.strip_prefix('@')?;
        inputs.iter().find(|input| input.alias == alias).map(|input| &input.artifact)
    };
    artifact.revision = match source(&request.artifact.revision) {
        Some(source) => source.revision.clone(),
        None => format!("latest@{}", artifact.digest),
    };
    if let Some(source) = source(&request.artifact.origin_revision) {
        artifact.metadata.insert(ORIGIN_REVISION.to_owned(), origin_revision(source).to_owned());
    }
}

/// The object that advertises an artifact (SRC-AGN-8).
fn external_artifact(
    generator: &ArtifactGenerator,
    key: ObjectKey,
    captures: BTreeMap<String, String>,
    artifact: Artifact,
) -> ExternalArtifact {
    let common = generator.spec.common_metadata.clone().unwrap_or_default();
    let mut labels = common.labels;
    labels.extend(captures);
    labels.insert(MANAGED_BY_LABEL.to_owned(), MANAGED_BY.to_owned());
    labels.insert(ARTIFACT_GENERATOR_LABEL.to_owned(), generator.uid().unwrap_or_default());
    ExternalArtifact {
        metadata: ObjectMeta {
            name: Some(key.name),
            namespace: Some(key.namespace),
            labels: Some(labels),
            annotations: (!common.annotations.is_empty()).then_some(common.annotations),
            ..ObjectMeta::default()
        },
        spec: ExternalArtifactSpec {
            source_ref: Some(ExternalArtifactSourceReference {
                api_version: Some(format!("{}/{}", ArtifactGenerator::GROUP, ArtifactGenerator::VERSION)),
                kind: ArtifactGenerator::KIND.to_owned(),
                name: generator.name_any(),
                namespace: generator.namespace(),
            }),
        },
        status: Some(ExternalArtifactStatus { artifact: Some(artifact), conditions: Vec::new() }),
    }
}
