//! The Kubernetes API that Weir serves: Flux's kinds, typed, in the version they are stored in.
//!
//! ```text
//!  spec  (what a user wrote)   ->  services decide by it
//!  status (what a service says) ->  conditions, artifact, inventory …
//!  crd   (schemas of all served versions) -> deploy/kustomize/crds/*.yaml
//! ```
//!
//! Invariants: reading is tolerant (enumerations are strings, absent fields have defaults), so that one odd object never
//! stops its kind (DEP-K8S-4); the schemas are exact, so that the API server refuses what Flux's refuses. A field that has
//! to be there today and could be left out in an older version reads as empty (`serde(default)` with `schemars(!default)`):
//! a cluster may still store such objects. A field is documented once, here, and the text becomes the description that
//! `kubectl explain` shows.
//! The crate does no IO.
#![allow(clippy::duplicated_attributes, reason = "every column of a `kube` attribute has its own `type_`")]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod artifact;
mod condition;
pub mod crd;
mod duration;
pub mod image;
pub mod kustomize;
mod metadata;
pub mod notification;
mod object;
mod reference;
mod schema;
pub mod source;

/// The time type of the API, `metav1.Time`.
pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

pub use self::artifact::Artifact;
pub use self::condition::{Condition, condition_time, condition_type, reason};
pub use self::duration::{Duration, ParseDurationError};
pub use self::image::{ImagePolicy, ImageRepository, ImageUpdateAutomation};
pub use self::kustomize::Kustomization;
pub use self::metadata::*;
pub use self::notification::{Alert, Provider, Receiver};
pub use self::object::FluxObject;
pub use self::reference::{
    AccessFrom, CrossNamespaceObjectReference, LocalObjectReference, NamespaceSelector,
    NamespacedObjectReference,
};
pub use self::source::{
    ArtifactGenerator, Bucket, ExternalArtifact, GitRepository, HelmChart, HelmRepository, OciRepository,
    SourceObject,
};
