//! Names in metadata: annotations, labels and the finalizer (KS 1.6).

/// Annotation: a new value asks for a reconciliation now.
pub const REQUESTED_AT_ANNOTATION: &str = "reconcile.fluxcd.io/requestedAt";
/// Finalizer of every kind.
pub const FINALIZER: &str = "finalizers.fluxcd.io";
/// Finalizer of an ArtifactGenerator (SRC-AGN-1).
pub const ARTIFACT_GENERATOR_FINALIZER: &str = "source.extensions.fluxcd.io/finalizer";
/// `disabled` on an ArtifactGenerator, in any case: it is paused (SRC-AGN-1).
pub const ARTIFACT_GENERATOR_RECONCILE_KEY: &str = "source.extensions.fluxcd.io/reconcile";
/// Label on generated ExternalArtifacts: the UID of their ArtifactGenerator (SRC-AGN-8).
pub const ARTIFACT_GENERATOR_LABEL: &str = "source.extensions.fluxcd.io/generator";
/// Prefix of annotations on an object that are copied into the metadata of its events (KS-EVT-3).
pub const EVENT_PREFIX: &str = "event.toolkit.fluxcd.io/";
/// Label on installed objects; the stock `flux check` selects on it (SRC-API-2).
pub const PART_OF_LABEL: &str = "app.kubernetes.io/part-of";
/// Label on installed objects: the controller they belong to.
pub const COMPONENT_LABEL: &str = "app.kubernetes.io/component";

/// Label on applied objects: the name of their Kustomization.
pub const KUSTOMIZE_NAME_LABEL: &str = "kustomize.toolkit.fluxcd.io/name";
/// Label on applied objects: the namespace of their Kustomization.
pub const KUSTOMIZE_NAMESPACE_LABEL: &str = "kustomize.toolkit.fluxcd.io/namespace";
/// `disabled` on an object: variables in it are left alone.
pub const KUSTOMIZE_SUBSTITUTE_KEY: &str = "kustomize.toolkit.fluxcd.io/substitute";
