//! The stages of an apply (KS-SSA-10..18).

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use weir_kstatus::Status;

use crate::error::{is_outdated, shown};
use crate::evaluate::{Evaluated, Plan};
use crate::live_object::LiveObject;
use crate::normalize::normalize;
use crate::ownership::Managers;
use crate::policy::{Mark, merges};
use crate::probe;
use crate::request::{Mode, Target};
use crate::{
    Action, Change, ChangeSet, Entry, Error, GroupKind, IgnoreRules, Judge, Manifest, ObjectId, Owner, Probe,
    Record, Session, Stage, order, successor,
};

/// Time that an apply gives the server to make something of what it was sent: definitions become ready, kinds show up in
/// discovery, replaced objects go (KS-SSA-10, KS-SSA-18). All of that takes well under a second as a rule. Anything slower
/// is not waited for, since others wait for their apply: it fails with an error that [may pass](Error::may_pass).
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// The first pause between two looks; it doubles up to the second.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// Times that an object is evaluated because it has changed before it was replaced. The next run tries again.
pub(crate) const MAX_EVALUATIONS: usize = 5;

/// Times that the names of objects are recorded while something newer keeps coming.
const MAX_RECORDS: usize = 3;

/// Settings of an apply.
#[derive(Clone)]
pub struct Settings {
    /// Field manager (KS-SSA-1).
    pub field_manager: String,
    /// Owner of the objects applied.
    pub owner: Owner,
    /// Managers whose fields are taken over, beside `kubectl`'s (KS-SSA-61).
    pub overridden_managers: Vec<String>,
    /// Kinds of the custom stage (KS-SSA-12).
    pub custom_stage: Vec<GroupKind>,
    /// Dry-runs in flight at once (KS-SSA-15).
    pub concurrency: usize,
    /// True when objects with changed immutable fields are replaced (KS-SSA-51).
    pub force: bool,
    /// Fields that are left to others (KS-SSA-70).
    pub ignored: IgnoreRules,
    /// True when managers of other versions of an object's API are made managers of the desired one (KS-SSA-22), also where the server does
    /// not refuse the object for them.
    pub migrates_versions: bool,
    /// True when Jobs that the cluster has deleted, because they had finished, are not made anew.
    pub leaves_ended: bool,
    /// True when drift is corrected: what a regular run puts back is left to the next one.
    pub is_correction: bool,
    /// Time for all of it (KS-REC-40).
    pub time: Duration,
    /// Rules of health for the waits between stages, before the usual ones (KS-CEL-6).
    pub judge: Option<Arc<dyn Judge>>,
}

/// An apply that stopped, and what it had done until then. Displayed as the error, an end of line, and a line for each
/// object that a stage before has changed (KS-SSA-16).
#[derive(Debug, thiserror::Error)]
#[error("{error}\n{}", lines(done))]
pub struct ApplyFailure {
    /// Error that stopped the apply.
    #[source]
    pub error: Error,
    /// Stages that were completed.
    pub done: ChangeSet,
}

fn lines(done: &ChangeSet) -> String {
    let lines = done.changed_lines();
    if lines.is_empty() { lines } else { lines + "\n" }
}

pub(crate) struct Applier<'a> {
    pub(crate) session: &'a Session,
    pub(crate) settings: &'a Settings,
    pub(crate) managers: Managers,
    /// Kinds that the manifests define themselves.
    defined: HashSet<GroupKind>,
    cancel: &'a CancellationToken,
    /// True when nothing is to be written.
    pub(crate) is_preview: bool,
    /// True once something was changed: from then on the apply is not called off, or an object that is being replaced would stay
    /// away, and nobody would be told of the changes.
    has_written: AtomicBool,
    deadline: Instant,
}

/// Looks at something that the server is making.
pub(crate) struct Looks {
    since: Instant,
    pause: Duration,
}

impl Default for Looks {
    fn default() -> Self {
        Self { since: Instant::now(), pause: PAUSE.0 }
    }
}

impl Session {
    /// Makes the cluster equal to the manifests, stage by stage. Their metadata gets the owner's labels last
    /// (KS-SSA-2, KS-SSA-6). Objects are written once `record` keeps their names.
    ///
    /// # Errors
    /// The first object that is refused, with what the stages before have done. Objects of its own stage are not
    /// written unless all of them have passed. [`Error::Cancelled`] if it was called off before anything was written; after that it
    /// goes on to its end.
    pub async fn apply(
        &self,
        manifests: Vec<Manifest>,
        settings: &Settings,
        cancel: &CancellationToken,
        record: &impl Record,
    ) -> Result<ChangeSet, ApplyFailure> {
        let (applier, mut manifests) = Applier::prepare(self, settings, manifests, cancel);
        let mut done = ChangeSet::default();
        for stage in Stage::ALL {
            let members = |manifest: &mut Manifest| Stage::of(manifest.id(), &settings.custom_stage) == stage;
            let members: Vec<Manifest> = manifests.extract_if(.., members).collect();
            if members.is_empty() {
                continue;
            }
            match applier.stage(stage, members, record).await {
                Ok(changes) => done.0.extend(changes),
                Err(error) => return Err(ApplyFailure { error, done }),
            }
        }
        Ok(done)
    }
}

impl<'a> Applier<'a> {
    /// The manifests as they are sent, in their order.
    pub(crate) fn prepare(
        session: &'a Session,
        settings: &'a Settings,
        mut manifests: Vec<Manifest>,
        cancel: &'a CancellationToken,
    ) -> (Self, Vec<Manifest>) {
        for manifest in &mut manifests {
            normalize(manifest);
            let labels = settings.owner.labels();
            let labels = labels.iter().map(|(key, value)| (key.as_str(), *value));
            manifest.set_metadata(crate::MetadataField::Labels, labels);
        }
        manifests.sort_by(|a, b| order::key(a.id()).cmp(&order::key(b.id())));
        let managers = Managers {
            own: settings.field_manager.clone(),
            overridden: settings.overridden_managers.clone(),
        };
        let defined = manifests.iter().filter_map(defined_kind).collect();
        let deadline = Instant::now() + settings.time;
        let has_written = AtomicBool::default();
        let is_preview = false;
        (Self { session, settings, managers, defined, cancel, is_preview, has_written, deadline }, manifests)
    }

    async fn stage(
        &self,
        stage: Stage,
        members: Vec<Manifest>,
        record: &impl Record,
    ) -> Result<Vec<Change>, Error> {
        let evaluated = timeout_at(self.deadline, self.evaluate_all(members)).await;
        let evaluated = evaluated.map_err(|_| self.timed_out())??;
        if self.is_called_off() {
            return Err(Error::Cancelled);
        }
        (self.session.kill_point)("stage-checked");
        let written: Vec<Entry> = evaluated.iter().filter_map(Evaluated::written).collect();
        self.record(written, record).await?;
        let mut changes = Vec::with_capacity(evaluated.len());
        let mut waited_for = Vec::new();
        for object in evaluated {
            if Instant::now() > self.deadline {
                return Err(self.timed_out());
            }
            let (id, version) = (object.manifest.id().clone(), object.manifest.version().to_owned());
            let conflict = object.conflict();
            let (action, applied) = self.settle(object).await?;
            if stage.is_awaited() && applied.is_some_and(|mut applied| !self.is_current(&id, &mut applied)) {
                waited_for.push(id.clone());
            }
            changes.push(Change { id, version, action, conflict });
        }
        self.wait(waited_for).await?;
        (self.session.kill_point)("stage-applied");
        Ok(changes)
    }

    /// Records the names of objects before they are written. A record that fails is often that of a run which has just been cancelled. An
    /// apply that has written something goes on in spite of the cancellation, and tries the record again.
    async fn record(&self, written: Vec<Entry>, record: &impl Record) -> Result<(), Error> {
        let mut attempts = 0;
        while !written.is_empty() && !record.add(written.clone()).await {
            attempts += 1;
            if self.is_called_off() {
                return Err(Error::Cancelled);
            }
            if attempts == MAX_RECORDS || !self.cancel.is_cancelled() {
                return Err(Error::NotRecorded);
            }
        }
        Ok(())
    }

    fn timed_out(&self) -> Error {
        Error::TimedOut { limit: self.settings.time }
    }

    /// Carries out the plan for one object. The plan is made anew when the object has changed meanwhile, and when the server refuses an
    /// object that was not tried by a dry run.
    async fn settle(&self, mut object: Evaluated) -> Result<(Action, Option<LiveObject>), Error> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let carried_out = self.carry_out(&object).await;
            let is_untried = matches!(object.plan, Plan::WriteUntried { .. });
            match carried_out {
                Err(error) if is_to_evaluate(&error, is_untried) && attempts < MAX_EVALUATIONS => {
                    let desired = object.desired;
                    object = Evaluated { desired, ..self.evaluate(object.manifest).await? };
                }
                done => return done,
            }
        }
    }

    /// Tries once to carry out a plan. Returns the object as the server has answered, if it was written.
    async fn carry_out(&self, object: &Evaluated) -> Result<(Action, Option<LiveObject>), Error> {
        let Evaluated { manifest, mapping, plan, .. } = object;
        let (Some(mapping), false) = (mapping, matches!(plan, Plan::Leave(_))) else {
            self.leave(object);
            return Ok((action_of(plan, None), None));
        };
        let target = Target { client: &self.session.client, mapping, id: manifest.id() };
        self.prepare_write(&target, plan).await?;
        let mut applied = self.write(&target, object).await?;
        self.wrote();
        (self.session.kill_point)("object-applied");
        self.note_in_ledger(object, &mut applied);
        Ok((action_of(plan, applied.meta.resource_version.as_deref()), Some(applied)))
    }

    /// Makes room for the object, in the ledger and where another one stands in its way.
    async fn prepare_write(&self, target: &Target<'_>, plan: &Plan) -> Result<(), Error> {
        if let Some((ledger, watches)) = &self.session.watched {
            ledger.open(&self.settings.owner, target.id);
            watches.ensure(target.mapping, &target.id.namespace);
        }
        match plan {
            Plan::Write { cleanup: Some(patch), .. } => self.clean_up(target, patch).await,
            Plan::Replace(judged) => self.delete_and_wait(target, judged).await,
            _ => Ok(()),
        }
    }

    fn note_in_ledger(&self, object: &Evaluated, applied: &mut LiveObject) {
        let Some(ledger) = self.session.ledger() else { return };
        let (owner, id) = (&self.settings.owner, object.manifest.id());
        if action_of(&object.plan, applied.meta.resource_version.as_deref()) != Action::Unchanged {
            defined_kind(&object.manifest).inspect(|kind| ledger.redefine(kind));
        }
        let is_done = !self.takes_over_more(object, applied);
        ledger.settle(owner, id, is_done.then_some(object.desired), applied);
        // From now on it is left alone, and its health is nobody's concern.
        if Mark::SsaIfNotPresent.on_desired(&owner.group, &object.manifest) {
            ledger.release(owner, id);
        }
    }

    /// Applies an object. Where it takes the place of one that has just gone, a quota may count that one for a moment.
    async fn write(&self, target: &Target<'_>, object: &Evaluated) -> Result<LiveObject, Error> {
        let mut looks = Looks::default();
        loop {
            let manager = &self.settings.field_manager;
            let error = match target.apply(manager, object.manifest.value(), Mode::Write).await {
                Ok(applied) => return Ok(applied),
                Err(error) => error,
            };
            let (id, message) = (target.id.clone(), shown(target.id, &error));
            if !matches!(object.plan, Plan::Replace(_)) || !successor::is_only_in_the_way(&error) {
                return Err(Error::Apply { id, message });
            }
            if !self.look_again(&mut looks).await.unwrap_or_default() {
                return Err(Error::ReplaceQuota { id, message });
            }
        }
    }

    /// Returns true for an object that was written without reading its field managers, when it has fields that are to become ours.
    fn takes_over_more(&self, object: &Evaluated, applied: &LiveObject) -> bool {
        matches!(object.plan, Plan::WriteOver { .. } | Plan::WriteUntried { .. })
            && !merges(&self.settings.owner.group, &object.manifest, &applied.meta)
            && self.managers.takes_over_any(applied)
    }

    fn judge_of(&self, id: &ObjectId) -> Option<&Arc<dyn Judge>> {
        self.settings.judge.as_ref().filter(|judge| judge.covers(id))
    }

    async fn health(&self, id: &ObjectId) -> Probe {
        match self.judge_of(id) {
            Some(judge) => probe::judged(self.session, Arc::clone(judge), id).await,
            None => probe::probe(self.session, id).await,
        }
    }

    /// Changes an object's metadata only (KS-SSA-22, KS-SSA-60). [`Error::Changed`] if it is no longer as it was when the patch was made.
    pub(crate) async fn clean_up(&self, target: &Target<'_>, patch: &serde_json::Value) -> Result<(), Error> {
        let cleaned = target.json_patch(&self.settings.field_manager, patch).await;
        cleaned.map_err(|error| match is_outdated(&error) {
            true => Error::Changed { id: target.id.clone() },
            false => Error::Cleanup { id: target.id.clone(), message: shown(target.id, &error) },
        })
    }

    /// Forgets an object that is left alone on purpose.
    fn leave(&self, object: &Evaluated) {
        if let (Plan::Leave(Action::Skipped), Some(ledger)) = (&object.plan, self.session.ledger()) {
            ledger.release(&self.settings.owner, object.manifest.id());
        }
    }

    /// Returns true for an object whose health the answer to its apply has shown. The verdict of a judge takes a look of its own.
    fn is_current(&self, id: &ObjectId, applied: &mut LiveObject) -> bool {
        self.judge_of(id).is_none() && applied.assess(id).status == Status::Current
    }

    /// Waits until objects are Current (KS-SSA-10, KS-SSA-11).
    async fn wait(&self, mut ids: Vec<ObjectId>) -> Result<(), Error> {
        let mut looks = Looks::default();
        while !ids.is_empty() {
            let mut late = Vec::new();
            let mut items = Vec::new();
            let mut failed = 0;
            for id in ids {
                let found = self.health(&id).await;
                if found.assessment.status != Status::Current {
                    failed += usize::from(found.assessment.status == Status::Failed);
                    items.push(found.item(&id));
                    late.push(id);
                }
            }
            ids = late;
            if failed > 0 && failed == ids.len() {
                return Err(Error::StageStalled { items: items.join(", ") });
            }
            if !ids.is_empty() && !self.look_again(&mut looks).await? {
                return Err(Error::StageTimeout { items: items.join(", ") });
            }
        }
        Ok(())
    }

    /// Waits for the next look at something that the server is making; false when it has taken too long.
    ///
    /// # Errors
    /// [`Error::Cancelled`] as soon as the apply is called off, unless something was written before.
    pub(crate) async fn look_again(&self, looks: &mut Looks) -> Result<bool, Error> {
        if looks.since.elapsed() > PATIENCE {
            return Ok(false);
        }
        #[expect(clippy::disallowed_methods, reason = "short, and bounded by PATIENCE")]
        let pause = tokio::time::sleep(looks.pause);
        looks.pause = (looks.pause * 2).min(PAUSE.1);
        if self.has_written.load(Ordering::Relaxed) {
            pause.await;
            return Ok(true);
        }
        self.cancel.run_until_cancelled(pause).await.map(|()| true).ok_or(Error::Cancelled)
    }

    /// Notes that something was changed.
    pub(crate) fn wrote(&self) {
        self.has_written.store(true, Ordering::Relaxed);
    }

    fn is_called_off(&self) -> bool {
        !self.has_written.load(Ordering::Relaxed) && self.cancel.is_cancelled()
    }

    /// Returns true when a CRD among the manifests defines the object's kind.
    pub(crate) fn defines(&self, id: &ObjectId) -> bool {
        self.defined.contains(&GroupKind { group: id.group.clone(), kind: id.kind.clone() })
    }
}

/// Returns what a plan does to an object, by the resource version that it has then, if that is known.
pub(crate) fn action_of(plan: &Plan, applied: Option<&str>) -> Action {
    match plan {
        Plan::Leave(action) | Plan::Write { action, .. } => *action,
        Plan::Replace(_) => Action::Created,
        Plan::WriteOver { version } | Plan::WriteUntried { version } if applied == Some(version) => {
            Action::Unchanged
        }
        Plan::WriteOver { .. } | Plan::WriteUntried { .. } => Action::Configured,
    }
}

fn is_to_evaluate(error: &Error, is_untried: bool) -> bool {
    matches!(error, Error::Outdated { .. } | Error::Changed { .. })
        || is_untried && matches!(error, Error::Apply { .. })
}

fn defined_kind(manifest: &Manifest) -> Option<GroupKind> {
    if Stage::of(manifest.id(), &[]) != Stage::Definitions {
        return None;
    }
    let spec = manifest.value().get("spec")?;
    let text = |path: &str| spec.pointer(path).and_then(serde_json::Value::as_str).map(str::to_owned);
    Some(GroupKind { group: text("/group")?, kind: text("/names/kind")? })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::Conflict;
    use crate::precise::Precise;

    fn write(action: Action) -> Plan {
        Plan::Write { action, cleanup: None, conflict: Conflict::default() }
    }

    /// KS-SSA-90
    #[rstest]
    #[case::left(Plan::Leave(Action::Skipped), None, Action::Skipped)]
    #[case::as_evaluated(write(Action::Created), Some("8"), Action::Created)]
    #[case::made_anew(Plan::Replace(Precise { uid: "u".into(), version: "7".into() }), Some("8"), Action::Created)]
    #[case::written_over(Plan::WriteOver { version: "7".into() }, Some("8"), Action::Configured)]
    #[case::as_it_was(Plan::WriteOver { version: "7".into() }, Some("7"), Action::Unchanged)]
    #[case::untried(Plan::WriteUntried { version: "7".into() }, Some("8"), Action::Configured)]
    #[case::untried_as_it_was(Plan::WriteUntried { version: "7".into() }, Some("7"), Action::Unchanged)]
    #[case::without_a_version(Plan::WriteUntried { version: "7".into() }, None, Action::Configured)]
    fn actions(#[case] plan: Plan, #[case] applied: Option<&str>, #[case] expected: Action) {
        assert_eq!(action_of(&plan, applied), expected);
    }
}
