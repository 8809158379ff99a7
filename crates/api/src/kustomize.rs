//! Kinds of `kustomize.toolkit.fluxcd.io`: what is applied to the cluster.

mod kustomization;
mod legacy;
mod spec;
mod status;

pub use kustomization::{Kustomization, KustomizationSpec};
pub use legacy::{JsonPatchOperation, JsonPatches};
pub use spec::{
    CommonMetadata, CrossNamespaceSourceReference, CustomHealthCheck, Decryption, DependencyReference,
    HealthCheck, IgnoreRule, ImageOverride, KubeConfigReference, Patch, PostBuild, SecretKeyReference,
    Selector, SubstituteReference,
};
pub use status::{HistoryEntry, Inventory, InventoryEntry, KustomizationStatus};
