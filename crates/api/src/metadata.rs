//! Names in metadata: annotations, labels and the finalizer (KS 1.6).

/// Annotation: a new value asks for a reconciliation now.
pub const REQUESTED_AT_ANNOTATION: &str = "reconcile.fluxcd.io/requestedAt";
/// Annotation: asks a HelmRelease for a forced upgrade; the kinds of this crate ignore it.
pub const FORCE_AT_ANNOTATION: &str = "reconcile.fluxcd.io/forceAt";
/// Annotation: asks a HelmRelease to reset its failure counts; the kinds of this crate ignore it.
pub const RESET_AT_ANNOTATION: &str = "reconcile.fluxcd.io/resetAt";
/// Label on Secrets and ConfigMaps: a change wakes the objects that refer to them when the value is `Enabled`.
pub const WATCH_LABEL: &str = "reconcile.fluxcd.io/watch";
/// Label that assigns an object to a shard of a controller.
pub const SHARD_KEY_LABEL: &str = "sharding.fluxcd.io/key";
/// Finalizer of every kind.
pub const FINALIZER: &str = "finalizers.fluxcd.io";
/// Finalizer of an ArtifactGenerator (SRC-AGN-1).
pub const ARTIFACT_GENERATOR_FINALIZER: &str = "source.extensions.fluxcd.io/finalizer";
/// `disabled` on an ArtifactGenerator, in any case: it is paused (SRC-AGN-1).
pub const ARTIFACT_GENERATOR_RECONCILE_KEY: &str = "source.extensions.fluxcd.io/reconcile";
/// Label on generated ExternalArtifacts: the UID of their ArtifactGenerator (SRC-AGN-8).
pub const ARTIFACT_GENERATOR_LABEL: &str = "source.extensions.fluxcd.io/generator";
/// Prefix of annotations that are copied into every event of the object.
pub const EVENT_PREFIX: &str = "event.toolkit.fluxcd.io/";
/// Label on installed objects; the stock `flux check` selects on it (SRC-API-2).
pub const PART_OF_LABEL: &str = "app.kubernetes.io/part-of";
/// Label on installed objects: the controller they belong to.
pub const COMPONENT_LABEL: &str = "app.kubernetes.io/component";

/// API group of sources.
pub const SOURCE_GROUP: &str = "source.toolkit.fluxcd.io";
/// API group of ArtifactGenerators.
pub const SOURCE_EXTENSIONS_GROUP: &str = "source.extensions.fluxcd.io";
/// API group of Kustomizations.
pub const KUSTOMIZE_GROUP: &str = "kustomize.toolkit.fluxcd.io";
/// API group of image kinds.
pub const IMAGE_GROUP: &str = "image.toolkit.fluxcd.io";
/// API group of notification kinds.
pub const NOTIFICATION_GROUP: &str = "notification.toolkit.fluxcd.io";

/// Label on applied objects: the name of their Kustomization.
pub const KUSTOMIZE_NAME_LABEL: &str = "kustomize.toolkit.fluxcd.io/name";
/// Label on applied objects: the namespace of their Kustomization.
pub const KUSTOMIZE_NAMESPACE_LABEL: &str = "kustomize.toolkit.fluxcd.io/namespace";
/// `disabled` on an object: it is neither applied nor pruned.
pub const KUSTOMIZE_RECONCILE_KEY: &str = "kustomize.toolkit.fluxcd.io/reconcile";
/// How an object is applied: Override, Merge, IfNotPresent, Ignore.
pub const KUSTOMIZE_SSA_KEY: &str = "kustomize.toolkit.fluxcd.io/ssa";
/// `enabled` on an object: it is recreated when an immutable field changes.
pub const KUSTOMIZE_FORCE_KEY: &str = "kustomize.toolkit.fluxcd.io/force";
/// `disabled` on an object: it is never deleted.
pub const KUSTOMIZE_PRUNE_KEY: &str = "kustomize.toolkit.fluxcd.io/prune";
/// `disabled` on an object: variables in it are left alone.
pub const KUSTOMIZE_SUBSTITUTE_KEY: &str = "kustomize.toolkit.fluxcd.io/substitute";
/// `disabled` on an object: it is not decrypted.
pub const KUSTOMIZE_DECRYPT_KEY: &str = "kustomize.toolkit.fluxcd.io/decrypt";
