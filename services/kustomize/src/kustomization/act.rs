//! Carries out a plan: everything that takes time or touches the cluster.

mod check;
mod manifests;
mod preview;
mod record;

use std::sync::Arc;
use std::time::Instant;

use weir_api::{Artifact, Kustomization};
use weir_runtime::{Run, killpoint};
use weir_ssa::{ChangeSet, Entry, Manifest, Session, Settings as ApplySettings};

use super::attempt::{Attempt, Done};
use super::decide::{Extent, Plan};
use super::failure::{Failure, reason};
use super::memory::{Applied, Waiting};
use super::observe::Observed;
use super::{KustomizationReconciler, health, inventory};
use crate::build::{Built, Footprint};
use crate::cluster::FIELD_MANAGER;
use manifests::refuse_encrypted;
use record::Record;

impl KustomizationReconciler {
    pub(super) async fn act(&self, run: &Run<Kustomization>, observed: &Observed, plan: Plan) -> Done {
        match plan {
            Plan::Refuse(failure) => Done::Refused(failure),
            Plan::Leave => Done::Left,
            Plan::CheckHealth(waiting) => {
                let session = self.cluster.session(&run.object);
                self.check(&session, Waiting::clone(&waiting)).await
            }
            Plan::Confirm { artifact, digest } => {
                let mut attempt = Attempt::new(run, &artifact, Extent::Changed);
                attempt.is_attempted = true;
                self.confirm(run, observed, attempt, digest).await
            }
            Plan::Apply { artifact, extent } => {
                let mut attempt = Attempt::new(run, &artifact, extent);
                match self.bring_about(run, observed, &artifact, extent, &mut attempt).await {
                    Ok(done) => done,
                    // What was fetched or built in vain is no news when something newer is about to run.
                    Err(_) if run.cancel.is_cancelled() && attempt.digest.is_none() => Done::Superseded,
                    Err(failure) => Done::Failed(attempt, failure),
                }
            }
        }
    }

    /// Fetch, build, apply, prune, and the first look at health.
    async fn bring_about(
        &self,
        run: &Run<Kustomization>,
        observed: &Observed,
        artifact: &Artifact,
        extent: Extent,
        attempt: &mut Attempt,
    ) -> Result<Done, Failure> {
        attempt.enter(run, "Fetching manifests");
        let (files, directory) = self.fetch(observed, artifact).await?;
        attempt.is_attempted = true;
        if let Some(applied) = self.same_build(observed, &files, &directory, extent) {
            return Ok(self.confirm(run, observed, attempt.clone(), applied.digest).await);
        }
        attempt.enter(run, "Building manifests");
        let kustomization = &*run.object;
        if kustomization.spec.kube_config.is_some() {
            let message = "failed to build kube client: spec.kubeConfig is not supported";
            return Err(Failure::retry(reason::RECONCILIATION_FAILED, message));
        }
        let session = self.cluster.session(kustomization);
        let built = self.build(observed, files, directory, run.cancel.clone()).await?;
        attempt.digest = Some(built.digest.clone());
        if run.cancel.is_cancelled() {
            return Ok(Done::Superseded);
        }
        attempt.enter(run, "Detecting drift");
        refuse_encrypted(&built.manifests)?;
        let Built { manifests, digest, footprint } = built;
        let short_jobs = health::short_jobs(&manifests);
        let Some(changes) = self.apply(run, &session, manifests, extent, attempt).await? else {
            return Ok(Done::Superseded);
        };
        killpoint::hit("after-apply");
        attempt.changed = changes.changed_lines();
        self.prune(observed, &session, &changes, attempt).await?;
        killpoint::hit("after-inventory");
        self.remember_applied(run, observed, digest, footprint);
        let targets = health::targets(kustomization, &changes);
        Ok(self.start_check(run, observed, &session, attempt.clone(), targets, short_jobs).await)
    }

    fn apply_settings(&self, kustomization: &Kustomization) -> ApplySettings {
        ApplySettings {
            field_manager: FIELD_MANAGER.to_owned(),
            owner: self.owner(kustomization),
            overridden_managers: self.settings.overridden_managers.clone(),
            custom_stage: self.settings.custom_stage.clone(),
            concurrency: self.settings.concurrent_ssa,
            force: kustomization.spec.force,
        }
    }

    /// Nothing if something newer came before anything was written.
    async fn apply(
        &self,
        run: &Run<Kustomization>,
        session: &Session,
        manifests: Vec<Manifest>,
        extent: Extent,
        attempt: &mut Attempt,
    ) -> Result<Option<ChangeSet>, Failure> {
        let settings = self.apply_settings(&run.object);
        if extent == Extent::Full {
            self.cluster.ledger().forget(&settings.owner);
        }
        let record = Record::new(run);
        let applied = session.apply(manifests, &settings, &run.cancel, &record).await;
        attempt.recorded = record.status();
        match applied {
            Ok(changes) => Ok(Some(changes)),
            Err(failure) if matches!(failure.error, weir_ssa::Error::Cancelled) => Ok(None),
            Err(failure) => Err(Failure::retry(reason::RECONCILIATION_FAILED, failure.to_string())),
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
        let new = changes.inventory();
        let stale = weir_ssa::stale(&self.known_inventory(observed), &new);
        attempt.inventory = Some(new.clone());
        if stale.is_empty() || !observed.kustomization.spec.prune {
            return Ok(());
        }
        let pruned = session.prune(&self.owner(&observed.kustomization), &stale).await;
        attempt.pruned = pruned.changes.lines();
        let Some(message) = pruned.failure() else { return Ok(()) };
        attempt.inventory = Some(new.into_iter().chain(pruned.unsettled(&stale)).collect());
        Err(Failure::retry(reason::PRUNE_FAILED, message))
    }

    /// The inventory of the status, and what a run that waited has applied without having written it yet.
    fn known_inventory(&self, observed: &Observed) -> Vec<Entry> {
        let known = inventory::entries(&observed.kustomization);
        let waiting = observed.unit.waiting.as_ref();
        let newer = waiting.and_then(|waiting| waiting.attempt.inventory.as_deref()).unwrap_or_default();
        inventory::union(known, newer)
    }

    fn remember_applied(
        &self,
        run: &Run<Kustomization>,
        observed: &Observed,
        digest: String,
        footprint: Footprint,
    ) {
        let Some(inputs) = observed.inputs.clone() else { return };
        let applied = Applied { inputs, digest, footprint: Arc::new(footprint), checked: Instant::now() };
        self.memory.change(&run.key, |unit| unit.applied = Some(applied));
    }

    /// Keeps what the next run needs to know of this one.
    pub(super) fn remember(&self, run: &Run<Kustomization>, observed: &Observed, done: &Done) {
        let waiting = match done {
            Done::Waiting { waiting, .. } => {
                let attempt = Attempt { is_told: true, recorded: None, ..waiting.attempt.clone() };
                Some(Arc::new(Waiting { attempt, ..Waiting::clone(waiting) }))
            }
            // What was applied but not written to the status has to be known to the run that follows.
            Done::Superseded => observed.unit.waiting.clone(),
            _ => None,
        };
        if waiting.is_none() {
            self.cluster.ledger().status_settled(&self.owner(&run.object));
        }
        self.memory.change(&run.key, |unit| unit.waiting = waiting);
    }
}
