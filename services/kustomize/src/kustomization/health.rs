//! Health checks without a held worker (KS-HC-1..12): the ledger answers for what is applied, the server for the rest.

mod announcements;
mod asked;
mod children;

use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use serde_json::Value;
use weir_api::Kustomization;
use weir_kstatus::{Assessment, Status};
use weir_ssa::{Action, ChangeSet, Entry, Judge, Manifest, ObjectId, Owner, Probe, Session, probe};

pub(crate) use self::announcements::Announcements;
use super::expression::{HealthChecks, public_part};
use super::failure::{Failure, reason};
use crate::cluster::is_kustomization;

/// Objects that are asked for at once, where no watch knows them.
pub(super) const AT_ONCE: usize = 8;

/// No health check ends before this (KS-REC-40).
const MIN_TIMEOUT: Duration = Duration::from_secs(30);

/// No fetch, build or apply is given up before this, however short the time limit of health checks is (KS-REC-40).
const MIN_WORK: Duration = Duration::from_secs(5 * 60);

/// Interval of the requests for objects that no watch covers.
const POLL: Duration = Duration::from_secs(2);

/// Wait that the status does not mention: most objects are ready within it, and each write costs the API server as
/// much as an apply does.
const QUIET: Duration = Duration::from_secs(2);

/// Longest pause between two tries to have a wait announced.
const MAX_QUIET: Duration = Duration::from_secs(30);

/// Objects whose health is awaited, since when, and until when.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    pub(crate) targets: Vec<ObjectId>,
    /// Jobs that are gone when they are done (KS-HC-9).
    pub(crate) short_jobs: Arc<HashSet<ObjectId>>,
    pub(crate) started: Instant,
    pub(crate) timeout: Duration,
    /// `healthCheckExprs`
    pub(crate) custom: Arc<HealthChecks>,
    /// The Kustomization that waits.
    pub(crate) owner: Owner,
    /// Expressions see no more of the objects of others than [`public_part`].
    pub(crate) hides_others: bool,
}

/// The verdict of a health check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// All are as they should be.
    Passed,
    /// They will not be, for this cause.
    Failed(String),
    /// Not yet.
    Waiting,
}

/// The time limit of health checks (KS-REC-40).
pub(crate) fn timeout_of(kustomization: &Kustomization) -> Duration {
    let spec = &kustomization.spec;
    let default = || spec.interval.to_std().saturating_sub(MIN_TIMEOUT);
    spec.timeout.map_or_else(default, |timeout| timeout.to_std()).max(MIN_TIMEOUT)
}

/// The time limit of each of fetch, build and apply (KS-REC-40).
pub(crate) fn work_limit_of(kustomization: &Kustomization) -> Duration {
    timeout_of(kustomization).max(MIN_WORK)
}

/// The objects to check after an apply (KS-HC-1..3), if there is a health check.
pub(crate) fn targets(kustomization: &Kustomization, changes: &ChangeSet) -> Option<Vec<ObjectId>> {
    let entries = changes.0.iter().filter(|change| change.action != Action::Skipped);
    targets_of(kustomization, entries.map(|change| &change.id))
}

/// The objects to check when nothing had to be applied.
pub(crate) fn targets_of_inventory(
    kustomization: &Kustomization,
    inventory: &[Entry],
) -> Option<Vec<ObjectId>> {
    targets_of(kustomization, inventory.iter().map(|entry| &entry.id))
}

/// The check of a Kustomization that names nothing but itself has nothing to wait for, and passes.
fn targets_of<'a>(
    kustomization: &Kustomization,
    all: impl Iterator<Item = &'a ObjectId>,
) -> Option<Vec<ObjectId>> {
    let spec = &kustomization.spec;
    let mut targets: Vec<ObjectId> = if spec.wait {
        all.cloned().collect()
    } else {
        let checks = spec.health_checks.iter().map(|check| {
            let api_version =
                check.api_version.as_deref().filter(|text| !text.is_empty()).unwrap_or("apps/v1");
            let group = api_version.split_once('/').map_or("", |(group, _)| group);
            ObjectId {
                namespace: check.namespace.clone().unwrap_or_default(),
                name: check.name.clone(),
                group: group.to_owned(),
                kind: check.kind.clone(),
            }
        });
        checks.collect()
    };
    if targets.is_empty() {
        return None;
    }
    targets.retain(|target| !is_itself(kustomization, target));
    Some(targets)
}

/// A check that names no version of an API fails at once: nothing that is waited for could answer it.
pub(crate) fn refuse_malformed(kustomization: &Kustomization) -> Result<(), Failure> {
    let spec = &kustomization.spec;
    let checks = spec.health_checks.iter().filter(|_| !spec.wait);
    let mut versions = checks.filter_map(|check| check.api_version.as_deref());
    match versions.find(|version| version.matches('/').count() > 1) {
        Some(version) => {
            let message = format!("unexpected GroupVersion string: {version}");
            Err(Failure::retry(reason::HEALTH_CHECK_FAILED, message))
        }
        None => Ok(()),
    }
}

/// A Kustomization that applies itself would wait for itself.
fn is_itself(kustomization: &Kustomization, target: &ObjectId) -> bool {
    is_kustomization(target)
        && Some(&target.name) == kustomization.metadata.name.as_ref()
        && Some(&target.namespace) == kustomization.metadata.namespace.as_ref()
}

/// Jobs with a time to live after they have finished.
pub(crate) fn short_jobs(manifests: &[Manifest]) -> HashSet<ObjectId> {
    let short = manifests.iter().filter(|it| weir_ssa::ends_by_itself(it.id(), it.value().get("spec")));
    short.map(|manifest| manifest.id().clone()).collect()
}

impl Check {
    /// Looks at all objects; those in `outdated` show the Ready of an older revision. The second value is when to look again, if no watch
    /// will say so earlier.
    pub(crate) async fn look(
        &self,
        session: &Session,
        outdated: &HashSet<ObjectId>,
        fails_fast: bool,
    ) -> (Verdict, Option<Duration>) {
        let mut found = Vec::with_capacity(self.targets.len());
        let mut is_polled = false;
        let looks = self.targets.iter().cloned().map(|id| async move {
            let lacks_namespace = session.lacks_namespace(&id).await;
            if lacks_namespace { None } else { Some(self.health(session, outdated, &id).await) }
        });
        let mut looks = pin!(stream::iter(looks).buffered(AT_ONCE).zip(stream::iter(&self.targets)));
        while let Some((state, id)) = looks.next().await {
            let Some((state, is_asked)) = state else {
                return (Verdict::Failed(lacks_namespace(id)), None);
            };
            is_polled |= is_asked;
            found.push((id, state));
        }
        let is_late = self.started.elapsed() >= self.timeout;
        (judge(&found, &self.short_jobs, is_late, fails_fast), is_polled.then_some(POLL))
    }

    /// Returns the health of one object, and true when no watch will report its change.
    pub(crate) async fn health(
        &self,
        session: &Session,
        outdated: &HashSet<ObjectId>,
        id: &ObjectId,
    ) -> (Probe, bool) {
        let (state, is_asked) = self.shown_health(session, id).await;
        if state.assessment.status == Status::Current && outdated.contains(id) {
            let message = "Ready is that of an older revision";
            return (Assessment::new(Status::InProgress, message).into(), true);
        }
        (state, is_asked)
    }

    /// The health that an object itself shows.
    async fn shown_health(&self, session: &Session, id: &ObjectId) -> (Probe, bool) {
        if self.custom.covers(id) {
            return (self.evaluate(session, id).await, true);
        }
        let known = session.ledger().and_then(|ledger| ledger.assessment(&self.owner, id));
        match known.filter(|known| !is_to_be_read(id, known)) {
            Some(known) => (known.into(), false),
            None => (probe(session, id).await, true),
        }
    }

    /// Asks the expressions (KS-CEL-3, KS-CEL-5).
    async fn evaluate(&self, session: &Session, id: &ObjectId) -> Probe {
        let object = match weir_ssa::read(session, id).await {
            Ok(Some(object)) => object,
            Ok(None) => return Assessment::not_found().into(),
            Err(error) => return Probe::unknown(error),
        };
        let is_hidden = self.hides_others && self.is_of_others(&object);
        let object = if is_hidden { public_part(&object) } else { object };
        let (custom, asked) = (Arc::clone(&self.custom), id.clone());
        let judged = weir_evaluation::evaluated(move |may_go_on| custom.judge(&asked, &object, may_go_on));
        judged.await.unwrap_or_else(Probe::unknown)
    }

    /// Returns true for an object of another namespace that the Kustomization has not applied.
    fn is_of_others(&self, object: &Value) -> bool {
        let metadata = object.get("metadata");
        let text = |field: &str| metadata.and_then(|metadata| metadata.get(field)).and_then(Value::as_str);
        let label = |key: &str| metadata.and_then(|metadata| metadata.get("labels")?.get(key)?.as_str());
        let is_applied = self.owner.labels().iter().all(|(key, value)| label(key) == Some(*value));
        text("namespace") != Some(self.owner.namespace.as_str()) && !is_applied
    }

    /// When to look again in any case. A wait that has not got its turn to be announced tries again, after pauses that double: of
    /// thousands that wait at once, few get their turn within seconds.
    pub(crate) fn give_up(&self, is_announced: bool, poll: Option<Duration>) -> Duration {
        let elapsed = self.started.elapsed();
        let left = self.timeout.saturating_sub(elapsed);
        let quiet = match is_announced {
            true => left,
            false if elapsed < QUIET => QUIET.saturating_sub(elapsed),
            false => elapsed.min(MAX_QUIET),
        };
        left.min(quiet).min(poll.unwrap_or(left))
    }

    /// Returns true before its time is over.
    pub(crate) fn has_time(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.started) < self.timeout
    }

    /// Returns true when the wait has taken long enough for an event.
    pub(crate) fn is_long(&self) -> bool {
        self.started.elapsed() >= QUIET
    }
}

/// Returns true for an object in progress that may fail without changing: the status of a StatefulSet or ReplicaSet does not show failed
/// Pods, and a Pod that cannot be scheduled counts as failed after some time.
fn is_to_be_read(id: &ObjectId, known: &Assessment) -> bool {
    let kinds = [("apps", "StatefulSet"), ("apps", "ReplicaSet"), ("", "Pod")];
    kinds.contains(&(id.group.as_str(), id.kind.as_str())) && known.status == Status::InProgress
}

/// KS-HC-11
fn lacks_namespace(id: &ObjectId) -> String {
    let ObjectId { name, group, kind, .. } = id;
    let kind = if group.is_empty() { kind.clone() } else { format!("{kind}.{group}") };
    format!("resource {kind} {name} is namespace scoped, but namespace is not set")
}

/// KS-HC-5, KS-HC-6, KS-HC-9
fn judge(
    found: &[(&ObjectId, Probe)],
    short_jobs: &HashSet<ObjectId>,
    is_late: bool,
    fails_fast: bool,
) -> Verdict {
    let is_done = |id: &ObjectId, status: Status| {
        status == Status::Current || (status == Status::NotFound && short_jobs.contains(id))
    };
    let late: Vec<_> = found.iter().filter(|(id, probe)| !is_done(id, probe.assessment.status)).collect();
    if late.is_empty() {
        return Verdict::Passed;
    }
    let is_failed = |probe: &Probe| probe.assessment.status == Status::Failed;
    let failed: Vec<_> = late.iter().copied().filter(|(_, probe)| is_failed(probe)).collect();
    if failed.len() == late.len() || (!failed.is_empty() && fails_fast) {
        return Verdict::Failed(format!("failed early due to stalled resources: [{}]", items(&failed)));
    }
    if is_late {
        return Verdict::Failed(format!("timeout waiting for: [{}]", items(&late)));
    }
    Verdict::Waiting
}

/// Returns the objects as messages list them.
fn items(found: &[&(&ObjectId, Probe)]) -> String {
    let mut items: Vec<String> = found.iter().map(|(id, probe)| probe.item(id)).collect();
    items.sort();
    items.join(", ")
}

#[cfg(test)]
mod tests;
