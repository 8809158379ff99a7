//! Decision to scan now or later: a pure function of what was observed (IR-8, IR-9).

use std::collections::BTreeSet;
use std::fmt::Display;
use std::time::Duration;

use weir_api::image::ImageRepositorySpec;
use weir_api::{ImageRepository, condition_type};
use weir_auth::{LoginError, is_private_ecr};
use weir_oci::{RegistryOptions, Repository};
use weir_runtime::{Failure, condition};

use super::observe::Observed;
use crate::access::{AccessError, has_cloud_account};

/// Tags that are left out when the object does not say; signatures of cosign (IR-1).
const DEFAULT_EXCLUSIONS: [&str; 1] = [r"^.*\.sig$"];

/// A scan that is due within this time is done at once.
const NEARLY_DUE: Duration = Duration::from_secs(1);

// Reasons of conditions.
const IMAGE_URL_INVALID: &str = "ImageURLInvalid";
const AUTHENTICATION_FAILED: &str = "AuthenticationFailed";
pub(super) const READ_OPERATION_FAILED: &str = "ReadOperationFailed";
const FAILURE: &str = "Failure";

/// The plan of a run.
#[derive(Debug)]
pub(super) enum Plan {
    /// Lists tags now.
    Scan(Box<Scan>),
    /// Nothing has changed and it is not yet time.
    Keep {
        /// Until the next scan.
        next: Duration,
        /// The repository's canonical name.
        canonical: String,
    },
    /// A scan is due, and cannot begin.
    Hindered { why: Why, failure: Failure },
    /// The run ends here.
    Fail(Failure),
}

/// One scan.
#[derive(Debug)]
pub(super) struct Scan {
    pub(super) why: Why,
    pub(super) repository: Repository,
    pub(super) options: RegistryOptions,
    pub(super) exclusions: Vec<String>,
    /// True when the store has no tags: they may be lost, and policies may be waiting for them.
    pub(super) fills_store: bool,
}

/// The reason for a scan, in the order of the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    First,
    Requested,
    NewName,
    NewExclusions,
    EmptyStore,
    Interval,
    /// The last one has failed: a scan that was asked for is owed until it succeeds. Flux forgets it.
    Failed,
}

impl Why {
    /// Returns the message of the object while the scan goes on.
    pub(super) fn progress(self) -> String {
        let why = match self {
            Self::First => "first scan",
            Self::Requested => "reconcile requested",
            Self::NewName => "new image name",
            Self::NewExclusions => "updated exclusion list",
            Self::EmptyStore => "no tags in database",
            Self::Interval => "triggered by interval",
            Self::Failed => "last scan failed",
        };
        format!("scanning: {why}")
    }
}

impl Scan {
    /// Returns true when nothing but lost tags asks for it.
    pub(super) fn is_of_empty_store(&self) -> bool {
        self.why == Why::EmptyStore
    }
}

/// The exclusion list in force; an empty one means the default too (IR-1).
pub(super) fn exclusions(object: &ImageRepository) -> Vec<String> {
    match object.spec.exclusion_list.as_slice() {
        [] => DEFAULT_EXCLUSIONS.map(str::to_owned).to_vec(),
        own => own.to_vec(),
    }
}

/// Decides what a run does.
pub(super) fn decide(observed: &Observed) -> Plan {
    if has_cloud_account(&observed.object.spec) && !observed.workload_identity {
        return Plan::Fail(Failure::workload_identity("spec.serviceAccountName for provider"));
    }
    let repository = match &observed.name {
        Ok(repository) => repository.clone(),
        Err(error) => return Plan::Fail(Failure::stalled(IMAGE_URL_INVALID, error.to_string())),
    };
    let options = match &observed.options {
        Ok(options) => Ok(options.clone()),
        // A login belongs to the scan: when none is due it does not matter (IR-24).
        Err(AccessError::Login(cause)) => Err(login_failed(&observed.object.spec, &repository, cause)),
        Err(cause) => {
            return Plan::Fail(authentication_failed(cause));
        }
    };
    match due(observed, &repository) {
        Ok(Due::Now(why)) => match options {
            Ok(options) => {
                let exclusions = exclusions(&observed.object);
                let fills_store = matches!(observed.has_tags, Ok(false));
                Plan::Scan(Box::new(Scan { why, repository, options, exclusions, fills_store }))
            }
            Err(message) => Plan::Hindered { why, failure: Failure::retried(READ_OPERATION_FAILED, message) },
        },
        Ok(Due::In(next)) => Plan::Keep { next, canonical: repository.to_string() },
        Err(cause) => {
            Plan::Fail(Failure::retried(FAILURE, format!("failed to determine if it's scan time: {cause}")))
        }
    }
}

/// The words of Flux, which logs in when a registry asks for it. Amazon's private ones ask for a password, so that the request fails;
/// the others ask for a token, and nothing is requested before there is one. The scheme is a guess: nobody has been asked.
fn login_failed(spec: &ImageRepositorySpec, repository: &Repository, cause: &LoginError) -> String {
    if !is_private_ecr(repository.host()) {
        return format!("scan failed: {cause}");
    }
    let scheme = if spec.insecure { "http" } else { "https" };
    let (host, path) = (repository.host(), repository.path());
    format!("scan failed: Get \"{scheme}://{host}/v2/{path}/tags/list?n=1000\": {cause}")
}

/// The settings of the object do not lead to a registry.
pub(super) fn authentication_failed(cause: impl Display) -> Failure {
    Failure::retried(AUTHENTICATION_FAILED, format!("failed to configure authentication options: {cause}"))
}

/// The time of the next scan.
enum Due {
    /// At once.
    Now(Why),
    /// After this long.
    In(Duration),
}

/// Returns the time of the next scan, or why it is not known.
fn due(observed: &Observed, repository: &Repository) -> Result<Due, String> {
    let Some(status) = &observed.object.status else { return Ok(Due::Now(Why::First)) };
    let Some(scan_time) = status.last_scan_result.as_ref().and_then(|last| last.scan_time.as_ref()) else {
        return Ok(Due::Now(Why::First));
    };
    if observed.is_requested {
        return Ok(Due::Now(Why::Requested));
    }
    if status.canonical_image_name.as_deref() != Some(&repository.to_string()) {
        return Ok(Due::Now(Why::NewName));
    }
    let set = |list: &[String]| list.iter().cloned().collect::<BTreeSet<_>>();
    if set(&exclusions(&observed.object)) != set(&status.observed_exclusion_list) {
        return Ok(Due::Now(Why::NewExclusions));
    }
    if !observed.has_tags.clone()? {
        return Ok(Due::Now(Why::EmptyStore));
    }
    let interval = observed.object.spec.interval.to_std();
    let age = observed.now.duration_since(scan_time.0);
    // A scan in the future, by a clock that was set back, is as old as now.
    let age = Duration::try_from(age).unwrap_or_default();
    let left = interval.saturating_sub(age);
    let ready = condition::find(&status.conditions, condition_type::READY);
    Ok(match ready {
        _ if left < NEARLY_DUE => Due::Now(Why::Interval),
        Some(ready) if ready.status == "False" => Due::Now(Why::Failed),
        _ => Due::In(left),
    })
}

#[cfg(test)]
mod tests;
