//! The common part of all kinds, for the machinery that treats them alike.

use std::fmt::Debug;

use kube::Resource;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    ARTIFACT_GENERATOR_RECONCILE_KEY, Alert, ArtifactGenerator, Bucket, Condition, Duration,
    ExternalArtifact, GitRepository, HelmChart, HelmRepository, ImagePolicy, ImageRepository,
    ImageUpdateAutomation, Kustomization, OciRepository, Provider, Receiver, condition_type,
};

/// An object of one of Weir's kinds.
pub trait FluxObject:
    Resource<DynamicType = ()> + Clone + DeserializeOwned + Serialize + Debug + Send + Sync + 'static
{
    /// API group.
    const GROUP: &'static str;
    /// Version of this type: the one that is stored.
    const VERSION: &'static str;
    /// Kind.
    const KIND: &'static str;
    /// Plural name in addresses and RBAC rules.
    const PLURAL: &'static str;

    /// Conditions of the status; empty for kinds without one.
    fn conditions(&self) -> &[Condition];
    /// Conditions to change; `None` for kinds without a status.
    fn conditions_mut(&mut self) -> Option<&mut Vec<Condition>>;
    /// The status as JSON; null for objects and kinds without one.
    fn status_value(&self) -> Value;
    /// Generation that the status speaks of, -1 before the first reconciliation.
    fn observed_generation(&self) -> i64;
    /// Records the generation that the status speaks of; no effect for kinds that do not have it.
    fn set_observed_generation(&mut self, generation: i64);
    /// Token of the last request that was handled.
    fn last_handled_reconcile_at(&self) -> Option<&str>;
    /// Records the token of a request as handled; no effect for kinds without a status.
    fn set_last_handled_reconcile_at(&mut self, token: &str);
    /// Returns true when the user suspended the object.
    fn is_suspended(&self) -> bool;
    /// Pause between two reconciliations, if the object says so.
    fn interval(&self) -> Option<Duration>;
    /// Returns the revision of the object, for people: that of an artifact, the applied one, the selected tag.
    fn revision(&self) -> Option<&str>;
}

/// Implements the trait for a kind; the part in braces says where its interval and revision are.
macro_rules! flux_object {
    (@names $group:literal, $version:literal, $kind:literal, $plural:literal) => {
        const GROUP: &'static str = $group;
        const VERSION: &'static str = $version;
        const KIND: &'static str = $kind;
        const PLURAL: &'static str = $plural;
    };
    // The usual fields of a kind's spec and status.
    (@conditions) => {
        fn conditions(&self) -> &[Condition] {
            self.status.as_ref().map_or(&[], |status| &status.conditions)
        }

        fn conditions_mut(&mut self) -> Option<&mut Vec<Condition>> {
            Some(&mut self.status.get_or_insert_default().conditions)
        }

        fn status_value(&self) -> Value {
            // The types of statuses serialize without fail.
            serde_json::to_value(&self.status).unwrap_or_default()
        }
    };
    (@suspend) => {
        fn is_suspended(&self) -> bool {
            self.spec.suspend
        }
    };
    (@requests) => {
        fn last_handled_reconcile_at(&self) -> Option<&str> {
            self.status.as_ref()?.last_handled_reconcile_at.as_deref()
        }

        fn set_last_handled_reconcile_at(&mut self, token: &str) {
            self.status.get_or_insert_default().last_handled_reconcile_at = Some(token.to_owned());
        }
    };
    (@no requests) => {
        fn last_handled_reconcile_at(&self) -> Option<&str> {
            None
        }

        fn set_last_handled_reconcile_at(&mut self, _: &str) {}
    };
    // The kinds without an observed generation in their status: the one of their Ready condition counts.
    (@observed by ready) => {
        fn observed_generation(&self) -> i64 {
            let ready = self.conditions().iter().find(|it| it.type_ == condition_type::READY);
            ready.and_then(|it| it.observed_generation).unwrap_or(-1)
        }

        fn set_observed_generation(&mut self, _: i64) {}

        fn interval(&self) -> Option<Duration> {
            None
        }
    };
    ($type:ty, $group:literal, $version:literal, $kind:literal, $plural:literal,
     |$object:ident| { $interval:expr, $revision:expr }) => {
        impl FluxObject for $type {
            flux_object!(@names $group, $version, $kind, $plural);
            flux_object!(@conditions);
            flux_object!(@suspend);
            flux_object!(@requests);

            fn observed_generation(&self) -> i64 {
                self.status.as_ref().map_or(-1, |status| status.observed_generation)
            }

            fn set_observed_generation(&mut self, generation: i64) {
                self.status.get_or_insert_default().observed_generation = generation;
            }

            fn interval(&self) -> Option<Duration> {
                let $object = self;
                $interval
            }

            fn revision(&self) -> Option<&str> {
                let $object = self.status.as_ref()?;
                $revision
            }
        }
    };
    ($type:ty, $group:literal, $version:literal, $kind:literal, $plural:literal, no status) => {
        impl FluxObject for $type {
            flux_object!(@names $group, $version, $kind, $plural);
            flux_object!(@suspend);
            flux_object!(@no requests);

            fn conditions(&self) -> &[Condition] {
                &[]
            }

            fn conditions_mut(&mut self) -> Option<&mut Vec<Condition>> {
                None
            }

            fn status_value(&self) -> Value {
                Value::Null
            }

            fn observed_generation(&self) -> i64 {
                -1
            }

            fn set_observed_generation(&mut self, _: i64) {}

            fn interval(&self) -> Option<Duration> {
                None
            }

            fn revision(&self) -> Option<&str> {
                None
            }
        }
    };
}

flux_object!(GitRepository, "source.toolkit.fluxcd.io", "v1", "GitRepository", "gitrepositories",
    |it| { Some(it.spec.interval), Some(it.artifact.as_ref()?.revision.as_str()) });
flux_object!(OciRepository, "source.toolkit.fluxcd.io", "v1", "OCIRepository", "ocirepositories",
    |it| { Some(it.spec.interval), Some(it.artifact.as_ref()?.revision.as_str()) });
flux_object!(Bucket, "source.toolkit.fluxcd.io", "v1", "Bucket", "buckets",
    |it| { Some(it.spec.interval), Some(it.artifact.as_ref()?.revision.as_str()) });
// An interval of zero counts as none, as in Flux.
flux_object!(HelmRepository, "source.toolkit.fluxcd.io", "v1", "HelmRepository", "helmrepositories",
    |it| { it.spec.interval.filter(|interval| !interval.is_zero()), Some(it.artifact.as_ref()?.revision.as_str()) });
flux_object!(HelmChart, "source.toolkit.fluxcd.io", "v1", "HelmChart", "helmcharts",
    |it| { Some(it.spec.interval), Some(it.artifact.as_ref()?.revision.as_str()) });
flux_object!(Kustomization, "kustomize.toolkit.fluxcd.io", "v1", "Kustomization", "kustomizations",
    |it| { Some(it.spec.interval), it.last_applied_revision.as_deref() });
flux_object!(ImageRepository, "image.toolkit.fluxcd.io", "v1", "ImageRepository", "imagerepositories",
    |it| { Some(it.spec.interval), Some(it.last_scan_result.as_ref()?.revision.as_str()) });
flux_object!(ImagePolicy, "image.toolkit.fluxcd.io", "v1", "ImagePolicy", "imagepolicies",
    |it| { it.spec.interval, Some(it.latest_ref.as_ref()?.tag.as_str()) });
flux_object!(ImageUpdateAutomation, "image.toolkit.fluxcd.io", "v1", "ImageUpdateAutomation", "imageupdateautomations",
    |it| { Some(it.spec.interval), it.observed_source_revision.as_deref() });
flux_object!(Receiver, "notification.toolkit.fluxcd.io", "v1", "Receiver", "receivers",
    |it| { it.spec.interval, it.webhook_path.as_deref() });
flux_object!(Alert, "notification.toolkit.fluxcd.io", "v1beta3", "Alert", "alerts", no status);
flux_object!(Provider, "notification.toolkit.fluxcd.io", "v1beta3", "Provider", "providers", no status);

impl FluxObject for ExternalArtifact {
    flux_object!(@names "source.toolkit.fluxcd.io", "v1", "ExternalArtifact", "externalartifacts");
    flux_object!(@conditions);
    flux_object!(@no requests);
    flux_object!(@observed by ready);

    fn is_suspended(&self) -> bool {
        false
    }

    fn revision(&self) -> Option<&str> {
        Some(self.status.as_ref()?.artifact.as_ref()?.revision.as_str())
    }
}

impl FluxObject for ArtifactGenerator {
    flux_object!(@names "source.extensions.fluxcd.io", "v1beta1", "ArtifactGenerator", "artifactgenerators");
    flux_object!(@conditions);
    flux_object!(@requests);
    flux_object!(@observed by ready);

    /// By an annotation; the kind has no such field (SRC-AGN-1).
    fn is_suspended(&self) -> bool {
        let annotations = self.metadata.annotations.as_ref();
        let value = annotations.and_then(|all| all.get(ARTIFACT_GENERATOR_RECONCILE_KEY));
        value.is_some_and(|value| value.eq_ignore_ascii_case("disabled"))
    }

    fn revision(&self) -> Option<&str> {
        self.status.as_ref()?.observed_sources_digest.as_deref()
    }
}

#[cfg(test)]
mod tests;
