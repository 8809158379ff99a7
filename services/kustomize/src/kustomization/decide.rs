//! The plan of a run, as a pure function of what was observed.

use std::sync::Arc;
use std::time::Duration;

use weir_api::{Artifact, Kustomization, condition_type};
use weir_runtime::{Cause, condition};

use super::expression::Verdict;
use super::extent::Extent;
use super::failure::Failure;
use super::memory::{Inputs, Waiting};
use super::observe::{Dependency, Observed};
use super::{Overtaken, Settings};
use crate::cluster::TargetError;
use crate::source::{Source, SourceId, is_revision};

/// Pause before a cluster is asked again that does not answer while a health check goes on.
const OUTAGE: Duration = Duration::from_secs(5);

/// The plan of a run.
pub(crate) enum Plan {
    /// Nothing, and say why.
    Refuse(Failure),
    /// Nothing with this artifact, as the dependencies stand; say why.
    Hold { artifact: Arc<Artifact>, failure: Failure },
    /// Nothing: what woke the run has already gone, or the Kustomization is suspended.
    Leave,
    /// Nothing yet: another run asks the remote cluster, or it does not answer for a moment. It is no news of this Kustomization, so
    /// nothing is reported.
    Postpone(Duration),
    /// Say that the health check ends here, because something newer came; the next run is about that.
    Cancel { waiting: Arc<Waiting>, trigger: String },
    /// Look whether what was applied has become healthy.
    CheckHealth(Arc<Waiting>),
    /// All is as it was applied: say so, without asking the cluster.
    Confirm { artifact: Arc<Artifact>, digest: String },
    /// Fetch, build, apply, prune.
    Apply { artifact: Arc<Artifact>, extent: Extent },
}

impl Plan {
    /// Returns true when dependencies stand against a run.
    pub(crate) fn is_held(&self) -> bool {
        matches!(self, Self::Hold { .. })
    }
}

/// KS-REC-20..26, and the short ways of DESIGN §5.
pub(crate) fn decide(observed: &Observed, settings: &Settings) -> Plan {
    if observed.kustomization.spec.suspend {
        return suspended(observed, settings);
    }
    if let Err(message) = &observed.health_checks {
        return Plan::Refuse(Failure::expression(message));
    }
    let artifact = match artifact(observed, settings) {
        Ok(artifact) => artifact,
        Err(failure) => return Plan::Refuse(failure),
    };
    if let Some(waiting) = undisturbed(observed) {
        return match &observed.target {
            Ok(_) => Plan::CheckHealth(Arc::clone(waiting)),
            Err(TargetError::Asking(pause)) => Plan::Postpone(*pause),
            Err(TargetError::Failed(_)) => Plan::Postpone(OUTAGE),
        };
    }
    let checked = checked(observed, settings);
    // Dependencies count when a run begins, not any more while it waits for health.
    if checked.is_none()
        && let Err(failure) = dependencies(observed, &artifact, settings)
    {
        return Plan::Hold { artifact, failure };
    }
    if let Err(TargetError::Asking(pause)) = observed.target {
        return Plan::Postpone(pause);
    }
    if let Some(waiting) = checked {
        return Plan::CheckHealth(waiting);
    }
    let unit = &observed.unit;
    let same = |inputs: &Inputs| observed.inputs.as_ref() == Some(inputs);
    let is_quiet = |allowed: &[Cause]| observed.causes.iter().all(|cause| allowed.contains(cause));
    if settings.overtaken == Overtaken::Cancels
        && let (Some(waiting), Some(trigger)) = (&unit.waiting, trigger(observed))
    {
        return Plan::Cancel { waiting: Arc::clone(waiting), trigger };
    }
    let applied = unit.applied.as_ref().filter(|applied| same(&applied.inputs));
    let is_tried_again = unit.tries_in_vain > 0 && is_quiet(&[Cause::Drift, Cause::Health, Cause::Timer]);
    if (is_quiet(&[Cause::Drift, Cause::Health]) || is_tried_again) && applied.is_some() {
        // While a check goes on, Ready may still be that of the run before.
        let is_ready = unit.waiting.is_none() && condition::is_ready(conditions(&observed.kustomization));
        return match (observed.is_proved, is_ready) {
            (true, true) => Plan::Leave,
            (false, true) => Plan::Apply { artifact, extent: Extent::Correction },
            (_, false) => Plan::Apply { artifact, extent: Extent::Changed },
        };
    }
    match applied {
        _ if unit.is_stale(observed.now) || observed.lacks_rights => {
            Plan::Apply { artifact, extent: Extent::Full }
        }
        Some(applied) if observed.is_proved && !applied.footprint.has_fetched() => {
            Plan::Confirm { artifact, digest: applied.digest.clone() }
        }
        _ => Plan::Apply { artifact, extent: Extent::Changed },
    }
}

/// Nothing begins any more; a health check that goes on comes to its end, as in Flux.
fn suspended(observed: &Observed, settings: &Settings) -> Plan {
    let Some(waiting) = &observed.unit.waiting else { return Plan::Leave };
    match (trigger(observed), &observed.target) {
        (Some(trigger), _) if settings.overtaken == Overtaken::Cancels => {
            Plan::Cancel { waiting: Arc::clone(waiting), trigger }
        }
        (_, Err(_)) if waiting.check.has_time(observed.now) => Plan::Postpone(OUTAGE),
        _ => Plan::CheckHealth(Arc::clone(waiting)),
    }
}

/// The health check that goes on, if one does: what the watches tell of this service's own writes does not end it.
fn checked(observed: &Observed, settings: &Settings) -> Option<Arc<Waiting>> {
    let waiting = observed.unit.waiting.as_ref()?;
    let inputs = observed.inputs.as_ref()?;
    let is_old = |cause: &Cause| match cause {
        Cause::Health | Cause::Timer | Cause::Dependency => true,
        Cause::Drift => observed.is_proved,
        _ => false,
    };
    if *inputs == waiting.inputs && observed.causes.iter().all(is_old) {
        return Some(Arc::clone(waiting));
    }
    let may_wait = |cause: &Cause| is_old(cause) || matches!(cause, Cause::Revision | Cause::Config);
    let goes_on = settings.overtaken == Overtaken::GoesOn
        && observed.causes.iter().all(may_wait)
        && inputs.is_of_same_spec(&waiting.inputs);
    goes_on.then(|| Arc::new(waiting.overtaken()))
}

/// Returns the health check that an apply goes on with, since all that this puts right are changes by others: its time runs on. Else
/// somebody who keeps changing an object would keep it from ever ending.
pub(crate) fn interrupted(observed: &Observed) -> Option<&Arc<Waiting>> {
    let waiting = observed.unit.waiting.as_ref()?;
    let is_same = observed.inputs.as_ref() == Some(&waiting.inputs);
    let may_go_on =
        |cause: &Cause| matches!(cause, Cause::Drift | Cause::Health | Cause::Timer | Cause::Dependency);
    (is_same && observed.causes.iter().all(may_go_on)).then_some(waiting)
}

/// Returns the health check that an apply with this result goes on with: its time runs on while the manifests stay the same, whatever
/// wakes the Kustomization. Else commits to other folders, or somebody who asks again and again, would keep it from ever ending.
pub(crate) fn continued<'o>(observed: &'o Observed, digest: Option<&str>) -> Option<&'o Arc<Waiting>> {
    let (waiting, inputs) = (observed.unit.waiting.as_ref()?, observed.inputs.as_ref()?);
    let is_same = digest.is_some() && waiting.attempt.digest.as_deref() == digest;
    let is_there = inputs.is_of_same_spec(&waiting.inputs) && inputs.target == waiting.inputs.target;
    interrupted(observed).or((is_same && is_there).then_some(waiting))
}

/// Returns the health check that waits until what the Kustomization refers to can be read again: a short outage is no news of what was
/// applied, and a longer one is reported when the time of the check is over (KS-HC-12).
fn undisturbed(observed: &Observed) -> Option<&Arc<Waiting>> {
    let waiting = observed.unit.waiting.as_ref()?;
    let is_quiet = |cause: &Cause| matches!(cause, Cause::Health | Cause::Timer | Cause::Dependency);
    let is_unread = observed.inputs.is_none() || matches!(observed.variables, Some(Err(_)));
    let has_time = waiting.check.has_time(observed.now);
    let may_wait = is_unread && waiting.inputs.is_of(&observed.kustomization) && has_time;
    (may_wait && observed.causes.iter().all(is_quiet)).then_some(waiting)
}

/// The object for which a running health check is given up, as `Kind/namespace/name` (KS-HC-30).
fn trigger(observed: &Observed) -> Option<String> {
    let is_caused_by = |cause: Cause| observed.causes.contains(&cause);
    if is_caused_by(Cause::Revision) {
        return Some(observed.source_id.subject());
    }
    if is_caused_by(Cause::Spec) || is_caused_by(Cause::Requested) {
        let key = weir_runtime::ObjectKey::of(&*observed.kustomization);
        return Some(format!("Kustomization/{key}"));
    }
    observed.unit.woken_by.clone().filter(|_| is_caused_by(Cause::Config))
}

/// Checks that all dependencies are ready (KS-DEP-1..9).
fn dependencies(observed: &Observed, artifact: &Artifact, settings: &Settings) -> Result<(), Failure> {
    for dependency in &observed.dependencies {
        if let Some(Verdict::Invalid(message)) = &dependency.verdict {
            let name = &dependency.key.name;
            return Err(Failure::expression(&format!(
                "terminal error: failed to evaluate dependency {name}: {message}"
            )));
        }
        ready(dependency, observed, artifact, settings).map_err(Failure::dependency)?;
    }
    Ok(())
}

/// The artifact, if the Kustomization may use it.
pub(crate) fn artifact(observed: &Observed, settings: &Settings) -> Result<Arc<Artifact>, Failure> {
    let kustomization = &*observed.kustomization;
    let source_id = &observed.source_id;
    let decryption = kustomization.spec.decryption.as_ref();
    if decryption.is_some_and(|decryption| {
        decryption.service_account_name.as_ref().is_some_and(|name| !name.is_empty())
    }) && !settings.workload_identity
    {
        return Err(Failure::workload_identity());
    }
    let own = kustomization.metadata.namespace.as_deref().unwrap_or_default();
    if settings.no_cross_namespace_refs && source_id.key.namespace != own {
        return Err(Failure::cross_namespace(source_id));
    }
    if source_id.kind == "ExternalArtifact" && !settings.has_external_artifacts {
        return Err(Failure::external_artifact(source_id));
    }
    match &observed.source {
        Source::Missing => Err(Failure::source_missing(source_id)),
        Source::Empty => Err(Failure::source_empty(settings.requeue_dependency)),
        Source::Artifact(artifact) => Ok(Arc::clone(artifact)),
        Source::Unreadable(error) => Err(Failure::source_unreadable(source_id, error)),
    }
}

/// KS-DEP-1..6
fn ready(
    dependency: &Dependency,
    observed: &Observed,
    artifact: &Artifact,
    settings: &Settings,
) -> Result<(), String> {
    let Dependency { key, found, verdict } = dependency;
    let Some(found) = found else {
        let name = &key.name;
        return Err(format!(
            "dependency '{key}' not found: kustomizations.kustomize.toolkit.fluxcd.io \"{name}\" not found"
        ));
    };
    match verdict {
        Some(Verdict::Unknown(message) | Verdict::Invalid(message)) => return Err(message.clone()),
        Some(Verdict::Ready(false)) => {
            return Err(format!("dependency '{key}' is not ready according to readyExpr eval"));
        }
        Some(Verdict::Ready(true)) if !settings.adds_ready_expr => return Ok(()),
        Some(Verdict::Ready(true)) | None => {}
    }
    let status = found.status.as_ref();
    let is_observed =
        status.is_some_and(|status| Some(status.observed_generation) == found.metadata.generation);
    if !is_observed || !condition::is_ready(conditions(found)) {
        return Err(format!("dependency '{key}' is not ready"));
    }
    let applied = status.and_then(|status| status.last_applied_revision.as_deref());
    if SourceId::of(found) == observed.source_id && !is_revision(applied, &artifact.revision) {
        return Err(format!("dependency '{key}' revision is not up to date"));
    }
    Ok(())
}

pub(crate) fn conditions(kustomization: &Kustomization) -> &[weir_api::Condition] {
    kustomization.status.as_ref().map_or(&[], |status| &status.conditions)
}

/// Returns true when the last health check has passed.
pub(crate) fn is_healthy(kustomization: &Kustomization) -> bool {
    condition::is_true(conditions(kustomization), condition_type::HEALTHY)
}

#[cfg(test)]
mod tests;
