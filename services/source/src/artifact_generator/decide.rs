//! The plan of a generator: pure functions of what was observed.

use std::collections::BTreeSet;

use weir_api::source::{ArtifactGeneratorSpec, ExternalArtifactReference, SourceReference};
use weir_api::{Artifact, ArtifactGenerator, FluxObject};
use weir_artifact::{Algorithm, Digest};
use weir_runtime::ObjectKey;
use weir_runtime::condition;

use super::failure::Failure;
use super::name;

const VALIDATION_FAILED: &str = "ValidationFailed";

/// Metadata of an artifact: the revision that its content has in its origin.
pub(super) const ORIGIN_REVISION: &str = "org.opencontainers.image.revision";

/// A source with its artifact.
#[derive(Debug, Clone)]
pub(super) struct Input {
    pub(super) alias: String,
    pub(super) artifact: Artifact,
}

/// The state of an entry of the inventory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stored {
    Whole,
    Missing,
    Broken,
}

/// Reasons to build artifacts; the first that holds counts (SRC-AGN-5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Drift {
    NotReady,
    GenerationChanged,
    SourcesChanged,
    ArtifactsChanged,
    ArtifactMissing,
    ArtifactCorrupted,
    ExternalArtifactsChanged,
}

/// Refuses what can never be built (SRC-AGN-3).
pub(super) fn validate(generator: &ArtifactGenerator, no_cross_namespace: bool) -> Result<(), Failure> {
    let spec = &generator.spec;
    let own = generator.metadata.namespace.as_deref().unwrap_or_default();
    let mut aliases = BTreeSet::new();
    for source in &spec.sources {
        if !aliases.insert(source.alias.as_str()) {
            return Err(invalid(format!("duplicate source alias '{}' found", source.alias)));
        }
        let namespace = namespace_of(source, own);
        if no_cross_namespace && namespace != own {
            let SourceReference { kind, name, .. } = source;
            let message =
                format!("cross-namespace reference to source {kind}/{namespace}/{name} is not allowed");
            return Err(Failure::stalled(weir_api::reason::ACCESS_DENIED, message));
        }
    }
    validate_artifacts(spec, &aliases)
}

fn validate_artifacts(spec: &ArtifactGeneratorSpec, aliases: &BTreeSet<&str>) -> Result<(), Failure> {
    let mut names = BTreeSet::new();
    for artifact in &spec.output_artifacts {
        let name = &artifact.name;
        if !names.insert(name) {
            return Err(invalid(format!("duplicate artifact name '{name}' found")));
        }
        let is_template = spec.path_pattern.as_ref().is_some_and(|pattern| !pattern.is_empty());
        if let (false, Err(rule)) = (is_template, name::check_object_name(name)) {
            return Err(invalid(format!(
                "artifact name {name:?} is not a valid Kubernetes object name: {rule}"
            )));
        }
        // An unknown source of `originRevision` is no error: the artifact has no such metadata then.
        let alias = artifact.revision.as_deref().and_then(|reference| reference.strip_prefix('@'));
        if let Some(alias) = alias.filter(|alias| !aliases.contains(alias)) {
            return Err(invalid(format!("artifact {name} revision source alias '{alias}' not found")));
        }
    }
    Ok(())
}

fn invalid(message: String) -> Failure {
    Failure::stalled(VALIDATION_FAILED, message)
}

/// The object that a source refers to.
pub(super) fn key_of(source: &SourceReference, generator: &ArtifactGenerator) -> ObjectKey {
    let own = generator.metadata.namespace.as_deref().unwrap_or_default();
    ObjectKey::new(namespace_of(source, own), &source.name)
}

/// The namespace of a source; an empty one is none, as in Flux.
fn namespace_of<'a>(source: &'a SourceReference, own: &'a str) -> &'a str {
    source.namespace.as_deref().filter(|namespace| !namespace.is_empty()).unwrap_or(own)
}

/// Identity of all that the artifacts are made of (SRC-AGN-6).
pub(super) fn sources_digest(inputs: &[Input]) -> String {
    let mut lines: Vec<String> = inputs
        .iter()
        .map(|Input { alias, artifact }| {
            let Artifact { digest, revision, url, .. } = artifact;
            format!("{alias}=[digest={digest},revision={revision},url={url}]")
        })
        .collect();
    lines.sort();
    Digest::of(Algorithm::Sha256, lines.join("|").as_bytes()).to_string()
}

/// Returns true when the artifacts have to be built (SRC-AGN-5). `objects` are the ExternalArtifacts that carry the
/// generator's label, with their digests.
pub(super) fn drift(
    generator: &ArtifactGenerator,
    sources_digest: &str,
    stored: &[Stored],
    objects: &[(ObjectKey, String)],
) -> Option<Drift> {
    let status = generator.status.clone().unwrap_or_default();
    let ready = condition::find(&status.conditions, weir_api::condition_type::READY);
    if ready.is_none_or(|ready| ready.status == "False") {
        return Some(Drift::NotReady);
    }
    if generator.metadata.generation != Some(generator.observed_generation()) {
        return Some(Drift::GenerationChanged);
    }
    if status.observed_sources_digest.as_deref() != Some(sources_digest) {
        return Some(Drift::SourcesChanged);
    }
    let spec = &generator.spec;
    if spec.path_pattern.is_none() && spec.output_artifacts.len() != status.inventory.len() {
        return Some(Drift::ArtifactsChanged);
    }
    match stored.iter().find(|stored| **stored != Stored::Whole) {
        Some(Stored::Missing) => return Some(Drift::ArtifactMissing),
        Some(_) => return Some(Drift::ArtifactCorrupted),
        None => {}
    }
    let is_known = |(key, digest): &(ObjectKey, String)| {
        let is_it = |entry: &ExternalArtifactReference| {
            entry.namespace == key.namespace && entry.name == key.name && entry.digest == *digest
        };
        status.inventory.iter().any(is_it)
    };
    let is_same = objects.len() == status.inventory.len() && objects.iter().all(is_known);
    (!is_same).then_some(Drift::ExternalArtifactsChanged)
}

/// The revision that the content of a source has in its origin (SRC-AGN-7).
pub(super) fn origin_revision(artifact: &Artifact) -> &str {
    let origin = artifact.metadata.get(ORIGIN_REVISION).map(String::as_str);
    origin.filter(|revision| !revision.is_empty()).unwrap_or(&artifact.revision)
}

#[cfg(test)]
mod tests;
