//! The plan of a run, as a pure function of what was observed.

use std::sync::Arc;
use std::time::Duration;

use weir_api::{Artifact, ExternalArtifact, FluxObject, Kustomization, condition_type};
use weir_runtime::{Cause, condition};

use super::expression::Verdict;
use super::extent::Extent;
use super::failure::Failure;
use super::memory::{Applied, Waiting};
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
    AwaitDependencies { artifact: Arc<Artifact>, failure: Failure },
    /// Nothing: what woke the run has already gone, or the Kustomization is suspended.
    Leave,
    /// Nothing yet: another run asks the remote cluster, or it does not answer for a moment. It is no news of this Kustomization, so
    /// nothing is reported.
    Postpone(Duration),
    /// Say why nothing is done. The health check that went on ends with it.
    GiveUp { waiting: Arc<Waiting>, failure: Failure },
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
    pub(crate) fn awaits_dependencies(&self) -> bool {
        matches!(self, Self::AwaitDependencies { .. })
    }
}

/// All that a rule looks at: there is an artifact to apply.
struct Case<'a> {
    observed: &'a Observed,
    settings: &'a Settings,
    artifact: Arc<Artifact>,
}

/// Returns a plan where the rule has one.
type Rule = fn(&Case<'_>) -> Option<Plan>;

/// The first that has a plan decides (KS-REC-20..26, and short ways of our own).
const RULES: [Rule; 8] = [
    outlast_outage,
    go_on_with_check,
    await_dependencies,
    await_cluster,
    |case| give_way(case.observed, case.settings),
    answer_watches,
    compare_everything,
    confirm,
];

/// Decides what a run does.
pub(crate) fn decide(observed: &Observed, settings: &Settings) -> Plan {
    if observed.kustomization.spec.suspend {
        return suspended(observed, settings);
    }
    if let Err(message) = &observed.health_checks {
        return Plan::Refuse(Failure::expression(message));
    }
    let case = match artifact(observed, settings) {
        Ok(artifact) => Case { observed, settings, artifact },
        Err(failure) => return refuse(observed, settings, failure),
    };
    let ruled = RULES.iter().find_map(|rule| rule(&case));
    ruled.unwrap_or_else(|| case.apply(Extent::Changed))
}

impl Case<'_> {
    fn apply(&self, extent: Extent) -> Plan {
        Plan::Apply { artifact: Arc::clone(&self.artifact), extent }
    }

    /// The last apply, if it was of what there is to apply now.
    fn applied(&self) -> Option<&Applied> {
        let applied = self.observed.unit.applied.as_ref()?;
        (self.observed.inputs.as_ref() == Some(&applied.inputs)).then_some(applied)
    }

    fn is_caused_only_by(&self, causes: &[Cause]) -> bool {
        self.observed.causes.iter().all(|cause| causes.contains(cause))
    }
}

/// Lets a health check outlive a short outage of what the Kustomization refers to (KS-HC-12).
fn outlast_outage(case: &Case<'_>) -> Option<Plan> {
    let waiting = undisturbed(case.observed)?;
    Some(match &case.observed.target {
        Ok(_) => Plan::CheckHealth(Arc::clone(waiting)),
        Err(TargetError::Asking(pause)) => Plan::Postpone(*pause),
        Err(TargetError::Failed(_)) => Plan::Postpone(OUTAGE),
    })
}

/// Goes on with a health check, as long as nothing newer came. Dependencies count when a run begins, not any more while it waits for
/// health.
fn go_on_with_check(case: &Case<'_>) -> Option<Plan> {
    let waiting = checked(case.observed, case.settings)?;
    Some(await_cluster(case).unwrap_or(Plan::CheckHealth(waiting)))
}

/// Waits until all dependencies are ready (KS-DEP-1).
fn await_dependencies(case: &Case<'_>) -> Option<Plan> {
    let failure = dependencies(case.observed, &case.artifact, case.settings).err()?;
    Some(Plan::AwaitDependencies { artifact: Arc::clone(&case.artifact), failure })
}

/// Waits while another run asks the remote cluster if it answers (KS-IMP-6).
fn await_cluster(case: &Case<'_>) -> Option<Plan> {
    match case.observed.target {
        Err(TargetError::Asking(pause)) => Some(Plan::Postpone(pause)),
        Ok(_) | Err(TargetError::Failed(_)) => None,
    }
}

/// Ends a health check that something newer follows, and says so, if the gate is on (KS-HC-30).
fn give_way(observed: &Observed, settings: &Settings) -> Option<Plan> {
    let waiting = observed.unit.waiting.as_ref().filter(|_| settings.overtaken == Overtaken::Cancels)?;
    Some(Plan::Cancel { waiting: Arc::clone(waiting), trigger: trigger(observed)? })
}

/// Puts drift right, if it is still there, when only watches have woken the run.
fn answer_watches(case: &Case<'_>) -> Option<Plan> {
    case.applied()?;
    let unit = &case.observed.unit;
    let is_tried_again =
        || unit.tries_in_vain > 0 && case.is_caused_only_by(&[Cause::Drift, Cause::Health, Cause::Timer]);
    if !case.is_caused_only_by(&[Cause::Drift, Cause::Health]) && !is_tried_again() {
        return None;
    }
    // While a check goes on, Ready may still be that of the run before.
    let is_ready = unit.waiting.is_none() && condition::is_ready(conditions(&case.observed.kustomization));
    Some(match (case.observed.is_proved, is_ready) {
        (true, true) => Plan::Leave,
        (false, true) => case.apply(Extent::Correction),
        (_, false) => case.apply(Extent::Changed),
    })
}

/// Compares everything with the cluster now and then, and when a right may have been taken away.
fn compare_everything(case: &Case<'_>) -> Option<Plan> {
    let is_due = case.observed.unit.is_stale(case.observed.now) || case.observed.lacks_rights;
    is_due.then(|| case.apply(Extent::Full))
}

/// Confirms what is there when nothing has changed on either side. No watch tells of remote bases.
fn confirm(case: &Case<'_>) -> Option<Plan> {
    let applied = case.applied().filter(|applied| !applied.footprint.has_fetched())?;
    let digest = applied.digest.clone();
    case.observed.is_certain().then(|| Plan::Confirm { artifact: Arc::clone(&case.artifact), digest })
}

/// Nothing begins any more; a health check that goes on comes to its end, as in Flux.
fn suspended(observed: &Observed, settings: &Settings) -> Plan {
    let Some(waiting) = &observed.unit.waiting else { return Plan::Leave };
    give_way(observed, settings).unwrap_or_else(|| finish(observed, Arc::clone(waiting)))
}

/// Refuses a run. Where the source or its artifact is gone, a running health check comes to its end first, as in Flux, and the next run
/// reports what is missing. A requested run reports it at once, and no result of the check follows.
fn refuse(observed: &Observed, settings: &Settings, failure: Failure) -> Plan {
    let is_gone = matches!(observed.source, Source::Missing | Source::Empty);
    let Some(waiting) = observed.unit.waiting.as_ref().filter(|_| is_gone) else {
        return Plan::Refuse(failure);
    };
    let is_asked = observed.causes.contains(&Cause::Requested);
    if !is_asked && waiting.inputs.is_of(&observed.kustomization) {
        return finish(observed, Arc::new(waiting.overtaken()));
    }
    let given_up = || Plan::GiveUp { waiting: Arc::clone(waiting), failure };
    give_way(observed, settings).unwrap_or_else(given_up)
}

/// Goes on with a health check, once the cluster answers or the time is over.
fn finish(observed: &Observed, waiting: Arc<Waiting>) -> Plan {
    match observed.target {
        Err(_) if waiting.check.has_time(observed.now) => Plan::Postpone(OUTAGE),
        _ => Plan::CheckHealth(waiting),
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

/// Returns the health check that an apply goes on with, because it only corrects changes by others: the time of the check runs on.
/// Otherwise somebody who keeps changing an object would keep the check from ever ending.
pub(crate) fn interrupted(observed: &Observed) -> Option<&Arc<Waiting>> {
    let waiting = observed.unit.waiting.as_ref()?;
    let is_same = observed.inputs.as_ref() == Some(&waiting.inputs);
    let may_go_on =
        |cause: &Cause| matches!(cause, Cause::Drift | Cause::Health | Cause::Timer | Cause::Dependency);
    (is_same && observed.causes.iter().all(may_go_on)).then_some(waiting)
}

/// Returns the health check that an apply with this result goes on with: its time runs on while the manifests stay the same, whatever
/// wakes the Kustomization. Otherwise commits to other folders, or repeated requests, would keep it from ever ending.
pub(crate) fn continued<'o>(observed: &'o Observed, digest: Option<&str>) -> Option<&'o Arc<Waiting>> {
    let (waiting, inputs) = (observed.unit.waiting.as_ref()?, observed.inputs.as_ref()?);
    let is_same = digest.is_some() && waiting.attempt.digest.as_deref() == digest;
    let is_there = inputs.is_of_same_spec(&waiting.inputs) && inputs.target == waiting.inputs.target;
    interrupted(observed).or((is_same && is_there).then_some(waiting))
}

/// Returns the health check that waits until what the Kustomization refers to can be read again. A short outage says nothing about what was
/// applied. A longer one is reported when the time of the check is over (KS-HC-12).
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
    let account = decryption.and_then(|decryption| decryption.service_account_name.as_deref());
    if account.is_some_and(|name| !name.is_empty()) && !settings.workload_identity {
        return Err(Failure::workload_identity());
    }
    let own = kustomization.metadata.namespace.as_deref().unwrap_or_default();
    if settings.no_cross_namespace_refs && source_id.key.namespace != own {
        return Err(Failure::cross_namespace(source_id));
    }
    if source_id.kind == ExternalArtifact::KIND && !settings.has_external_artifacts {
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
    let found = found.as_ref().map_err(|reason| format!("dependency '{key}' not found: {reason}"))?;
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
