//! The selection of a policy: a pure function of what was observed (IP-2 to IP-15).

use std::time::Duration;

use weir_api::{
    ImagePolicy, ImageRepository,
    condition_type::READY,
    image::{ImagePolicySpec, ImageRef},
    reason,
};
use weir_oci::Repository;
use weir_policy::{Order, Policy, PolicyError, TagFilter, select};
use weir_runtime::{Failure, Next, ObjectKey, condition::find};

use super::{observe::Observed, repository_key};
use crate::{access::has_cloud_account, image_name};

/// Time for which a policy is silent while its repository has no tags: a repository is scanned in it.
const PATIENCE: Duration = Duration::from_secs(5);

// Reasons of conditions.
const IMAGE_URL_INVALID: &str = "ImageURLInvalid";
const INVALID_POLICY: &str = "InvalidPolicy";
const INTERVAL_NOT_CONFIGURED: &str = "IntervalNotConfigured";
const FAILURE: &str = "Failure";

/// The plan of a run.
#[derive(Debug)]
pub(super) enum Plan {
    /// Publishes a tag.
    Select(Choice),
    /// Waits for tags in silence: at the latest for this long, if no scan ends before.
    Wait(Duration),
    /// The run ends here.
    Fail(Failure),
}

/// The tag to publish.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Choice {
    /// The image as the repository's author wrote it (IP-13).
    pub(super) name: String,
    pub(super) tag: String,
    pub(super) digest: DigestPlan,
    /// Repository where digests are looked up.
    pub(super) repository: Repository,
}

/// The origin of the digest (IP-14).
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DigestPlan {
    None,
    Keep(String),
    Fetch,
}

/// Decides what a run does. The plan of a run that is cancelled meanwhile may be made of some of the tags only: callers drop it.
pub(super) fn decide(observed: &Observed) -> Plan {
    match selection(observed) {
        Ok(plan) => plan,
        Err(failure) => Plan::Fail(failure),
    }
}

fn selection(observed: &Observed) -> Result<Plan, Failure> {
    let spec = &observed.policy.spec;
    if spec.digest_reflection_policy.as_deref() == Some("Always") && spec.interval.is_none() {
        let message = "spec.interval must be set when spec.digestReflectionPolicy is set to 'Always'";
        return Err(Failure::stalled(INTERVAL_NOT_CONFIGURED, message));
    }
    let object = repository(observed)?;
    let repository = image_name::parse(&object.spec.image);
    let repository = repository.map_err(|error| Failure::stalled(IMAGE_URL_INVALID, error.to_string()))?;
    check_identity(object, observed.settings.workload_identity)?;
    let policy = policy(spec)?;
    let tags = observed.tags.as_ref().map_err(|cause| Failure::retried(FAILURE, cause.clone()))?;
    if tags.is_empty() || !is_scanned(object, &repository) {
        return Ok(wait(observed, object));
    }
    let filter = filter(spec)?;
    let tags = tags.iter().map(String::as_str).take_while(|_| !observed.cancel.is_cancelled());
    let tag = select(&policy, filter.as_ref(), tags);
    let tag = tag.map_err(|error| Failure::retried(FAILURE, error.to_string()))?.to_owned();
    let name = object.spec.image.clone();
    let digest = digest_plan(&observed.policy, &name, &tag);
    Ok(Plan::Select(Choice { name, tag, digest, repository }))
}

/// The repository, if the policy may use it (IP-4).
fn repository(observed: &Observed) -> Result<&ImageRepository, Failure> {
    let key = repository_key(&observed.policy);
    let own = ObjectKey::of(&*observed.policy).namespace;
    let prefix = "failed to get the referred ImageRepository";
    let denied = |text: String| Failure::retried(reason::ACCESS_DENIED, format!("{prefix}: {text}"));
    if key.namespace != own && observed.settings.no_cross_namespace_refs {
        let text =
            format!("cannot access 'ImageRepository/{key}', cross-namespace references have been blocked");
        return Err(denied(text));
    }
    let object = observed.repository.as_deref().ok_or_else(|| {
        let missing = format!("ImageRepository.image.toolkit.fluxcd.io {:?} not found", key.name);
        let text = format!("{prefix}: referenced ImageRepository does not exist: {missing}");
        Failure::retried(reason::DEPENDENCY_NOT_READY, text)
    })?;
    if key.namespace == own {
        return Ok(object);
    }
    let Some(access) = &object.spec.access_from else {
        let text =
            format!("access denied: '{key}' can't be accessed due to missing ACL labels on 'accessFrom'");
        return Err(denied(text));
    };
    let labels = observed.namespace_labels.as_ref();
    let labels =
        labels.map_err(|cause| denied(format!("labels of namespace '{own}' are not known: {cause}")))?;
    let matches = |selector: &weir_api::NamespaceSelector| {
        selector.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
    };
    if access.namespace_selectors.iter().any(matches) {
        return Ok(object);
    }
    let text =
        format!("access denied: '{key}' can't be accessed due to ACL labels mismatch on namespace '{own}'");
    Err(denied(text))
}

fn check_identity(object: &ImageRepository, is_enabled: bool) -> Result<(), Failure> {
    if has_cloud_account(&object.spec) && !is_enabled {
        let usage = "spec.serviceAccountName in the ImageRepository for provider";
        return Err(Failure::workload_identity(usage));
    }
    Ok(())
}

/// The first of semver, alphabetical and numerical that is set (IP-2).
fn policy(spec: &ImagePolicySpec) -> Result<Policy, Failure> {
    let invalid =
        |text: &dyn std::fmt::Display| Failure::stalled(INVALID_POLICY, format!("invalid policy: {text}"));
    let order = |order: &Option<String>| order.as_deref().map_or(Order::default(), Order::parse);
    let choice = &spec.policy;
    if let Some(semver) = &choice.semver {
        return Policy::semver(&semver.range).map_err(|error| invalid(&error));
    }
    if let Some(alphabetical) = &choice.alphabetical {
        return Ok(Policy::Alphabetical(order(&alphabetical.order)));
    }
    if let Some(numerical) = &choice.numerical {
        return Ok(Policy::Numerical(order(&numerical.order)));
    }
    Err(invalid(&"given ImagePolicyChoice object is invalid"))
}

fn filter(spec: &ImagePolicySpec) -> Result<Option<TagFilter>, Failure> {
    let compile = |filter: &weir_api::image::TagFilter| TagFilter::new(&filter.pattern, &filter.extract);
    spec.filter_tags.as_ref().map(compile).transpose().map_err(|error| {
        Failure::stalled(INVALID_POLICY, format!("failed to filter tags: {}", PolicyError::from(error)))
    })
}

/// Returns false while the stored tags are those of an image that the repository named before: nobody knows yet if the new one has them.
fn is_scanned(repository: &ImageRepository, image: &Repository) -> bool {
    let scanned = repository.status.as_ref().and_then(|status| status.canonical_image_name.as_ref());
    scanned.is_none_or(|scanned| *scanned == image.to_string())
}

/// There are no tags: silent at first, so that a policy applied together with its repository, or before it, does not complain of what
/// is about to be done (IP-6). A scan that has found none is no such thing.
fn wait(observed: &Observed, repository: &ImageRepository) -> Plan {
    let give_up = observed.settings.requeue_dependency;
    if observed.is_to_be_visited && has_lost_tags(repository) {
        return Plan::Wait(give_up);
    }
    let message = format!("retrying in {} error: no tags in database", weir_api::Duration::from(give_up));
    let conditions = observed.policy.status.as_ref().map_or(&[][..], |status| &status.conditions);
    let is_told = find(conditions, READY).is_some_and(|ready| ready.message == message);
    if !observed.has_waited && !is_told && !is_known_empty(repository) {
        return Plan::Wait(PATIENCE);
    }
    Plan::Fail(Failure::retried(reason::DEPENDENCY_NOT_READY, message).then(Next::Wait { give_up }))
}

/// Returns true for a repository whose last scan has found no tags.
fn is_known_empty(repository: &ImageRepository) -> bool {
    let last = repository.status.as_ref().and_then(|status| status.last_scan_result.as_ref());
    last.is_some_and(|last| last.tag_count == 0)
}

/// Returns true for a repository without tags that had some: the service has started with an empty store.
fn has_lost_tags(repository: &ImageRepository) -> bool {
    let last = repository.status.as_ref().and_then(|status| status.last_scan_result.as_ref());
    !repository.spec.suspend && last.is_some_and(|last| last.tag_count > 0)
}

fn digest_plan(policy: &ImagePolicy, name: &str, tag: &str) -> DigestPlan {
    let latest = policy.status.as_ref().and_then(|status| status.latest_ref.as_ref());
    let known = latest
        .filter(|latest: &&ImageRef| latest.name == name && latest.tag == tag && !latest.digest.is_empty());
    match (policy.spec.digest_reflection_policy.as_deref(), known) {
        (Some("Always"), _) | (Some("IfNotPresent"), None) => DigestPlan::Fetch,
        (Some("IfNotPresent"), Some(latest)) => DigestPlan::Keep(latest.digest.clone()),
        _ => DigestPlan::None,
    }
}

#[cfg(test)]
mod tests;
