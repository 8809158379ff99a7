//! Carries out a plan: everything that takes time or touches the cluster.

mod check;
mod manifests;
mod preview;
mod record;

use std::sync::Arc;
use std::time::Duration;

use weir_api::{Artifact, Kustomization};
use weir_runtime::{ObjectKey, Run, killpoint};
use weir_ssa::{ApplyFailure, ChangeSet, Judge, Manifest, Session, Settings as ApplySettings};

use self::check::Subjects;
use self::manifests::{Made, refuse_encrypted};
use self::record::Record;
use super::attempt::{Attempt, Done};
use super::decide::{Plan, interrupted};
use super::extent::Extent;
use super::failure::{Class, Failure, reason};
use super::memory::{Applied, Inputs, Unit, Waiting};
use super::observe::Observed;
use super::prune_limit::{self, Asked};
use super::{KustomizationReconciler, change_log, circle, conflict, health, inventory};
use crate::build::Built;
use crate::builds::Budgeted;
use crate::cluster::FIELD_MANAGER;
use crate::ignore;

/// Applies in a row that wait for the same, such as finalizers: for five minutes, as long as Flux gives its wait.
const APPLY_TRIES: u32 = 30;
/// The pause between them.
const APPLY_PAUSE: Duration = Duration::from_secs(5);
/// Corrections in a row that may fail without a word: a namespace or a definition that somebody deletes takes its time to go.
const CORRECTION_TRIES: u32 = 6;

/// A run that applies an artifact.
#[derive(Clone, Copy)]
struct Applying<'a> {
    run: &'a Run<Kustomization>,
    observed: &'a Observed,
    artifact: &'a Artifact,
    extent: Extent,
}

impl KustomizationReconciler {
    pub(super) async fn act(&self, run: &Run<Kustomization>, observed: &Observed, plan: Plan) -> Done {
        match plan {
            Plan::Refuse(failure) => Done::Refused(failure),
            Plan::AwaitDependencies { artifact, failure } => {
                let failure = self.naming_circle(&run.key, failure);
                Done::Blocked(Attempt::new(run, &artifact, Extent::Changed), failure)
            }
            Plan::GiveUp { waiting, failure } => {
                let inventory = Some(observed.known_inventory());
                Done::Failed(Attempt { inventory, ..waiting.attempt.clone() }, failure)
            }
            Plan::Leave => Done::Left,
            Plan::Postpone(pause) => Done::Postponed(pause),
            Plan::Cancel { waiting, trigger } => Done::Canceled(waiting.attempt.clone(), trigger),
            Plan::CheckHealth(waiting) => match observed.session() {
                Ok(session) => self.check(&session, Waiting::clone(&waiting)).await,
                Err(failure) => Done::Refused(failure),
            },
            Plan::Confirm { artifact, digest } => {
                log_dependencies(observed);
                let mut attempt = Attempt::new(run, &artifact, Extent::Changed);
                attempt.is_attempted = true;
                self.confirm(run, observed, attempt, digest).await
            }
            Plan::Apply { artifact, extent } => {
                log_dependencies(observed);
                let mut attempt = Attempt::new(run, &artifact, extent);
                // Whatever this run comes to, the status has to say what an earlier one has made.
                if observed.unit.waiting.is_some() {
                    attempt.inventory = Some(observed.known_inventory());
                }
                let applying = Applying { run, observed, artifact: &artifact, extent };
                let result = self.bring_about(applying, &mut attempt).await;
                result.unwrap_or_else(|failure| failed(applying, attempt, failure))
            }
        }
    }

    /// Adds the circle of dependencies to the message of a Kustomization that waits for others, if it is part of one. It is looked for
    /// only then: that takes a look at all that a Kustomization depends on.
    fn naming_circle(&self, key: &ObjectKey, failure: Failure) -> Failure {
        match failure.class {
            Class::Dependency => {
                let circle = circle::text(key, |key| self.kustomizations.get(key));
                Failure { message: failure.message + &circle, ..failure }
            }
            _ => failure,
        }
    }

    /// Fetch, build, apply, prune, and the first look at health.
    async fn bring_about(&self, applying: Applying<'_>, attempt: &mut Attempt) -> Result<Done, Failure> {
        let Applying { run, observed, .. } = applying;
        // The share of memory is kept until the manifests are gone.
        let making = run.cancel.run_until_cancelled(self.make(applying, attempt));
        let Some(made) = making.await else { return Ok(Done::Superseded) };
        let Budgeted { made, share } = made?;
        let built = match made {
            Made::Built(built) => built,
            Made::Same(applied) => {
                drop(share);
                let digest = applied.digest.clone();
                self.memory.change(&run.key, |unit| unit.applied = Some(applied));
                return Ok(self.confirm(run, observed, attempt.clone(), digest).await);
            }
        };
        let kustomization = &*run.object;
        let session = observed.session()?;
        attempt.digest = Some(built.digest.clone());
        attempt.enter(run, "Detecting drift");
        refuse_encrypted(&built.manifests)?;
        self.refuse_prune(observed, &built.manifests)?;
        let Built { manifests, digest, footprint, .. } = built;
        let short_jobs = Arc::new(health::short_jobs(&manifests));
        let Some(changes) = self.apply(applying, &session, manifests, attempt).await? else {
            return Ok(Done::Superseded);
        };
        drop(share);
        killpoint::hit("after-apply");
        attempt.changed = changes.changed_lines();
        let corrected = conflict::contested(&changes).filter(|_| attempt.is_correction);
        let fight = self.memory.corrected(&run.key, corrected);
        attempt.warnings = conflict::warnings(&changes, fight.as_ref(), |owner| self.is_going(owner));
        attempt
            .warnings
            .retain(|warning| !warning.is_of_owners() || self.memory.is_news(&run.key, &warning.message));
        self.prune(observed, &session, &changes, attempt).await?;
        killpoint::hit("after-inventory");
        health::refuse_malformed(kustomization)?;
        let objects = attempt.inventory.as_ref().map_or(0, Vec::len);
        self.remember_applied(run, observed, |inputs| Applied {
            inputs,
            digest,
            footprint: Arc::new(footprint),
            objects,
            short_jobs: Arc::clone(&short_jobs),
        });
        let subjects = Subjects { targets: health::targets(kustomization, &changes), short_jobs };
        Ok(self.start_check(run, observed, &session, attempt.clone(), subjects).await)
    }

    /// Fetch and build: nothing is written yet, so that this may be dropped at any time.
    async fn make(&self, applying: Applying<'_>, attempt: &mut Attempt) -> Result<Budgeted<Made>, Failure> {
        let Applying { run, observed, artifact, extent } = applying;
        attempt.enter(run, "Fetching manifests");
        let (files, place) = self.fetch(observed, artifact).await?;
        attempt.is_attempted = true;
        attempt.enter(run, "Building manifests");
        // Nothing is built for a cluster that cannot be reached.
        observed.session()?;
        let last = self.comparable(observed, extent);
        self.build(observed, files, place, last, run.cancel.clone()).await
    }

    fn apply_settings(&self, observed: &Observed) -> Result<ApplySettings, Failure> {
        let kustomization = &observed.kustomization;
        let ignored = ignore::compile(&kustomization.spec.ignore);
        // Flux's message ends with a line break.
        let failed = |text| Failure::retry(reason::RECONCILIATION_FAILED, format!("{text}\n"));
        let ignored = ignored.map_err(failed)?;
        Ok(ApplySettings {
            field_manager: FIELD_MANAGER.to_owned(),
            owner: self.owner(kustomization),
            overridden_managers: self.settings.overridden_managers.clone(),
            custom_stage: self.settings.custom_stage.clone(),
            concurrency: self.settings.concurrent_ssa,
            force: kustomization.spec.force,
            ignored,
            migrates_versions: self.settings.migrates_versions,
            leaves_ended: false,
            is_correction: false,
            time: health::work_limit_of(kustomization),
            judge: observed.health_checks.clone().ok().map(|checks| checks as Arc<dyn Judge>),
        })
    }

    /// Nothing if something newer came before anything was written.
    async fn apply(
        &self,
        applying: Applying<'_>,
        session: &Session,
        manifests: Vec<Manifest>,
        attempt: &mut Attempt,
    ) -> Result<Option<ChangeSet>, Failure> {
        let Applying { run, observed, extent, .. } = applying;
        let mut settings = self.apply_settings(observed)?;
        settings.is_correction = extent == Extent::Correction;
        settings.leaves_ended =
            settings.is_correction || interrupted(observed).is_some() || observed.unit.tries_in_vain > 0;
        if extent == Extent::Full {
            session.ledger().inspect(|ledger| ledger.forget(&settings.owner));
            self.memory.change(&run.key, Unit::compare_all);
        }
        let revision = attempt.revision.clone();
        let record = Record::new(run, &revision, observed.known_inventory(), &self.unnamed);
        self.doubt(run, observed);
        let applied = session.apply(manifests, &settings, &run.cancel, &record).await;
        attempt.recorded = record.status();
        if attempt.recorded.is_some() {
            // The record has all that was known, and more.
            attempt.inventory = None;
        }
        match applied {
            Ok(changes) => {
                self.log_changes(&changes, attempt);
                Ok(Some(changes))
            }
            Err(failure) if matches!(failure.error, weir_ssa::Error::Cancelled) => Ok(None),
            Err(failure) => Err(apply_failure(observed, &failure)),
        }
    }

    /// Forgets the last apply of other inputs: objects that this one writes are no longer as that one has left them, also where
    /// it ends half way and the old inputs come back.
    fn doubt(&self, run: &Run<Kustomization>, observed: &Observed) {
        let is_other = |applied: &mut Applied| observed.inputs.as_ref() != Some(&applied.inputs);
        self.memory.change(&run.key, |unit| drop(unit.applied.take_if(is_other)));
    }

    /// KS-SSA-92
    fn log_changes(&self, changes: &ChangeSet, attempt: &Attempt) {
        if !changes.0.is_empty() {
            let output = change_log::output(changes, self.settings.groups_change_log);
            tracing::info!(revision = attempt.revision, output_json = %output, "server-side apply completed");
        }
    }

    /// Deletes what is no longer wanted (KS-GC-1, KS-GC-2, KS-GC-5).
    async fn prune(
        &self,
        observed: &Observed,
        session: &Session,
        changes: &ChangeSet,
        attempt: &mut Attempt,
    ) -> Result<(), Failure> {
        let (new, known) = (changes.inventory(), observed.known_inventory());
        let stale = weir_ssa::stale(&known, &new);
        attempt.inventory = Some(new.clone());
        if stale.is_empty() || !observed.kustomization.spec.prune {
            return Ok(());
        }
        let pruned = session.prune(&self.owner(&observed.kustomization), &stale).await;
        let Some(message) = pruned.failure() else {
            attempt.pruned = pruned.changes.lines();
            tracing::info!(revision = attempt.revision, "garbage collection completed: {}", attempt.pruned);
            return Ok(());
        };
        // Flux sends no event of a prune that went half way.
        tracing::info!(
            revision = attempt.revision,
            changes = pruned.changes.lines(),
            "pruning went half way"
        );
        attempt.inventory = Some(inventory::with_old(new, pruned.unsettled(&stale)));
        Err(Failure::retry(reason::PRUNE_FAILED, message))
    }

    /// Refuses a revision whose prune is beyond the limit, before anything of it is applied (docs/adr/0017).
    fn refuse_prune(&self, observed: &Observed, manifests: &[Manifest]) -> Result<(), Failure> {
        if !observed.kustomization.spec.prune {
            return Ok(());
        }
        let known = observed.known_inventory();
        let stale = inventory::unwanted(&known, manifests);
        if stale.is_empty() {
            return Ok(());
        }
        let asked = Asked::of(&observed.kustomization, known.len(), &stale);
        let allowed = prune_limit::decide(&asked, &self.settings.prune_limit);
        allowed.map_err(|message| Failure::retry(reason::PRUNE_REFUSED, message))
    }

    fn remember_applied(
        &self,
        run: &Run<Kustomization>,
        observed: &Observed,
        applied: impl FnOnce(Inputs) -> Applied,
    ) {
        let Some(inputs) = observed.inputs.clone() else { return };
        self.memory.change(&run.key, |unit| unit.remember(applied(inputs)));
    }

    /// Keeps what the next run needs to know of this one.
    pub(super) fn remember(&self, run: &Run<Kustomization>, observed: &Observed, done: &Done) {
        let waiting = match done {
            Done::Waiting { waiting, .. } => {
                let attempt = Attempt { is_told: true, recorded: None, ..waiting.attempt.clone() };
                Some(Arc::new(Waiting { attempt, ..Waiting::clone(waiting) }))
            }
            // Objects applied but not yet written to the status must be known to the next run.
            Done::Superseded
            | Done::Refused(_)
            | Done::Blocked(..)
            | Done::Left
            | Done::Postponed(_)
            | Done::Uncorrected(_) => observed.unit.waiting.clone(),
            _ => None,
        };
        if let (None, Ok(cluster)) = (&waiting, &observed.target) {
            cluster.ledger().status_settled(&self.owner(&run.object));
        }
        let has_failed_again =
            matches!(done, Done::Failed(_, Failure { class: Class::Again(_), .. }) | Done::Uncorrected(_));
        let owed = if done.owes() { observed.causes.clone() } else { Vec::new() };
        self.memory.change(&run.key, |unit| unit.ended(waiting, owed, has_failed_again));
    }
}

/// Returns what came of an attempt that has failed.
fn failed(Applying { run, observed, .. }: Applying<'_>, attempt: Attempt, failure: Failure) -> Done {
    // A failed fetch or build is not reported when a newer run is about to begin.
    if run.cancel.is_cancelled() && attempt.digest.is_none() {
        return Done::Superseded;
    }
    if attempt.is_correction && observed.unit.tries_in_vain < CORRECTION_TRIES {
        tracing::info!(revision = attempt.revision, error = failure.message, "drift stays for now");
        return Done::Uncorrected(APPLY_PAUSE);
    }
    Done::Failed(attempt, observed.discreet(failure))
}

/// KS-LOG-1
fn log_dependencies(observed: &Observed) {
    if !observed.dependencies.is_empty() {
        tracing::info!("All dependencies are ready, proceeding with reconciliation");
    }
}

/// An apply that the server was too slow for is tried again soon, by a run of its own (KS-SSA-10, KS-SSA-53).
fn apply_failure(observed: &Observed, failure: &ApplyFailure) -> Failure {
    let (reason, message) = (reason::RECONCILIATION_FAILED, failure.to_string());
    if failure.error.may_pass() && observed.unit.tries_in_vain < APPLY_TRIES {
        Failure::again(reason, message, APPLY_PAUSE)
    } else {
        Failure::retry(reason, message)
    }
}
