//! Carries out a plan: everything that takes time or touches the cluster.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use weir_api::{Artifact, Kustomization};
use weir_ignore::Matcher;
use weir_kustomize::{MemoryFs, RelPath};
use weir_runtime::{Run, killpoint};
use weir_ssa::{ChangeSet, Difference, Entry, Manifest, Session, Settings as ApplySettings};

use super::decide::{Extent, Plan, artifact};
use super::failure::{Failure, reason};
use super::health::{self, Check, Verdict, timeout_of};
use super::memory::{Applied, Inputs, Waiting};
use super::observe::Observed;
use super::{KustomizationReconciler, inventory};
use crate::build::{self, Built, Footprint};
use crate::cluster::FIELD_MANAGER;
use crate::fetch;
use crate::source::origin_revision;

/// Message of the Ready condition while a run lasts (KS-REC-27).
const IN_PROGRESS: &str = "Reconciliation in progress";

/// How far a run has come; what it leaves in the status.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(crate) revision: String,
    pub(crate) origin_revision: Option<String>,
    /// When the run began: durations in messages count from here.
    pub(crate) started: Instant,
    /// What the run was doing last, as the Reconciling condition says it.
    pub(crate) phase: String,
    /// Whether the artifact was there and had the path (KS-REC-51).
    pub(crate) is_attempted: bool,
    /// Digest of the manifests, once they are built.
    pub(crate) digest: Option<String>,
    /// What is in the cluster now, once the apply went through.
    pub(crate) inventory: Option<Vec<Entry>>,
    /// One line an object that the apply has changed.
    pub(crate) changed: String,
    /// One line an object that was no longer wanted.
    pub(crate) pruned: String,
    /// Whether the two were told by an earlier run that then waited.
    pub(crate) is_told: bool,
    pub(crate) is_correction: bool,
}

/// What a run came to.
pub(crate) enum Done {
    /// Nothing was tried.
    Refused(Failure),
    /// There was nothing to do.
    Left,
    /// Something newer is about to run.
    Superseded,
    /// It went wrong.
    Failed(Attempt, Failure),
    /// It waits for health, which `give_up` ends.
    Waiting { waiting: Arc<Waiting>, give_up: Duration },
    /// It is done; with the time that the health check took, if there was one.
    Finished(Attempt, Option<Duration>),
}

impl Attempt {
    fn new(run: &Run<Kustomization>, artifact: &Artifact, extent: Extent) -> Self {
        Self {
            revision: artifact.revision.clone(),
            origin_revision: origin_revision(artifact).map(str::to_owned),
            started: run.started,
            phase: String::new(),
            is_attempted: false,
            digest: None,
            inventory: None,
            changed: String::new(),
            pruned: String::new(),
            is_told: false,
            is_correction: extent == Extent::Correction,
        }
    }

    /// Says what the run is doing, to those who watch and for a failure later.
    fn enter(&mut self, run: &Run<Kustomization>, what: &str) {
        let timeout = weir_api::Duration::from(timeout_of(&run.object));
        self.phase = format!("{what} for revision {} with a timeout of {timeout}", self.revision);
        run.phase(IN_PROGRESS, self.phase.clone());
    }
}

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
        let Some(changes) = self.apply(run, &session, manifests, extent).await? else {
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

    async fn fetch(&self, observed: &Observed, artifact: &Artifact) -> Result<(MemoryFs, RelPath), Failure> {
        let fetched = self.artifacts.files(&observed.source_id, artifact).await;
        let files = fetched.map_err(|error| match error {
            fetch::Error::NotFound => Failure::artifact_gone(self.settings.requeue_dependency),
            error => Failure::retry(reason::ARTIFACT_FAILED, error.to_string()),
        })?;
        let mut memory = MemoryFs::new();
        for (path, file) in files {
            let inserted = memory.insert(path.as_str(), file.bytes);
            inserted.map_err(|error| Failure::retry(reason::ARTIFACT_FAILED, error.to_string()))?;
        }
        let path = observed.kustomization.spec.path.as_deref().unwrap_or_default();
        let directory = build::directory(&memory, path).ok_or_else(|| {
            let message = format!("kustomization path not found: stat {path}: no such file or directory");
            Failure::retry(reason::ARTIFACT_FAILED, message)
        })?;
        Ok((memory, directory))
    }

    /// The last apply, if a build of these files would give the same manifests and the cluster still has them.
    fn same_build(
        &self,
        observed: &Observed,
        files: &MemoryFs,
        directory: &RelPath,
        extent: Extent,
    ) -> Option<Applied> {
        let (applied, inputs) = (observed.unit.applied.clone()?, observed.inputs.clone()?);
        let is_same =
            Inputs { artifact: applied.inputs.artifact.clone(), ..inputs.clone() } == applied.inputs;
        let may_skip = extent == Extent::Changed && observed.is_proved && !applied.is_stale();
        let spec = &observed.kustomization.spec;
        if !(is_same && may_skip && applied.footprint.still_holds(files, directory, spec)) {
            return None;
        }
        let applied = Applied { inputs, ..applied };
        self.memory.change(&weir_runtime::ObjectKey::of(&*observed.kustomization), |unit| {
            unit.applied = Some(applied.clone());
        });
        Some(applied)
    }

    async fn build(
        &self,
        observed: &Observed,
        files: MemoryFs,
        directory: RelPath,
        cancel: CancellationToken,
    ) -> Result<Built, Failure> {
        let (spec, variables) = (observed.kustomization.spec.clone(), observed.variables.clone());
        let is_strict = self.settings.is_strict;
        let time = timeout_of(&observed.kustomization);
        let building = self.builds.run(time, cancel, move |remote| {
            let ignored = Matcher::default();
            build::build(build::Input { files, directory, spec, variables, is_strict, ignored, remote })
        });
        let failed = |text: String| Failure::retry(reason::BUILD_FAILED, text);
        building.await.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))
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

    /// The manifests of the current artifact, whatever its dependencies; nothing is applied.
    pub(crate) async fn preview(&self, kustomization: &Arc<Kustomization>) -> Result<Vec<Manifest>, Failure> {
        let observed = self.observe(kustomization, &[]).await;
        let artifact = artifact(&observed, &self.settings)?;
        let (files, directory) = self.fetch(&observed, &artifact).await?;
        // Who asked may go away.
        let cancel = CancellationToken::new();
        let _guard = cancel.clone().drop_guard();
        Ok(self.build(&observed, files, directory, cancel).await?.manifests)
    }

    /// What applying the current artifact would change, told with the rights that an apply would have.
    pub(crate) async fn preview_changes(
        &self,
        kustomization: &Arc<Kustomization>,
    ) -> Result<Vec<Difference>, Failure> {
        let manifests = self.preview(kustomization).await?;
        refuse_encrypted(&manifests)?;
        let session = self.cluster.session(kustomization);
        let differences = session.diff(manifests, &self.apply_settings(kustomization)).await;
        let failed =
            |error: weir_ssa::Error| Failure::retry(reason::RECONCILIATION_FAILED, error.to_string());
        let mut differences = differences.map_err(failed)?;
        let kept: Vec<Entry> = differences
            .iter()
            .map(|difference| Entry { id: difference.id.clone(), version: String::new() })
            .collect();
        if kustomization.spec.prune {
            let stale = weir_ssa::stale(&inventory::entries(kustomization), &kept);
            differences.extend(stale.into_iter().map(|entry| Difference {
                id: entry.id,
                action: weir_ssa::Action::Deleted,
                fields: Vec::new(),
            }));
        }
        Ok(differences)
    }

    /// Nothing if something newer came before anything was written.
    async fn apply(
        &self,
        run: &Run<Kustomization>,
        session: &Session,
        manifests: Vec<Manifest>,
        extent: Extent,
    ) -> Result<Option<ChangeSet>, Failure> {
        let settings = self.apply_settings(&run.object);
        if extent == Extent::Full {
            self.cluster.ledger().forget(&settings.owner);
        }
        match session.apply(manifests, &settings, &run.cancel).await {
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

    /// Nothing had to be applied: the inventory stays, health is looked at again.
    async fn confirm(
        &self,
        run: &Run<Kustomization>,
        observed: &Observed,
        mut attempt: Attempt,
        digest: String,
    ) -> Done {
        let session = self.cluster.session(&run.object);
        attempt.digest = Some(digest);
        let entries = inventory::entries(&run.object);
        let targets = health::targets_of_inventory(&run.object, &entries);
        attempt.inventory = Some(entries);
        self.start_check(run, observed, &session, attempt, targets, Default::default()).await
    }

    async fn start_check(
        &self,
        run: &Run<Kustomization>,
        observed: &Observed,
        session: &Session,
        mut attempt: Attempt,
        targets: Vec<weir_ssa::ObjectId>,
        short_jobs: std::collections::HashSet<weir_ssa::ObjectId>,
    ) -> Done {
        let (false, false, Some(inputs)) = (targets.is_empty(), attempt.is_correction, &observed.inputs)
        else {
            return Done::Finished(attempt, None);
        };
        attempt.enter(run, "Running health checks");
        let timeout = timeout_of(&run.object);
        let custom = observed.health_checks.clone().unwrap_or_default();
        let check = Check { targets, short_jobs, started: Instant::now(), timeout, custom };
        let waiting = Waiting { inputs: inputs.clone(), attempt, check, is_announced: false };
        // Asked for before the first look, so that no change in between is missed.
        session.ledger().inspect(|ledger| ledger.await_status(&self.owner(&run.object)));
        self.check(session, waiting).await
    }

    async fn check(&self, session: &Session, mut waiting: Waiting) -> Done {
        let (verdict, poll) = waiting.check.look(session, self.settings.fails_fast).await;
        let took = waiting.check.started.elapsed();
        match verdict {
            Verdict::Passed => Done::Finished(waiting.attempt, Some(took)),
            Verdict::Failed(cause) => {
                Done::Failed(waiting.attempt, Failure::retry(reason::HEALTH_CHECK_FAILED, cause))
            }
            Verdict::Waiting => {
                waiting.is_announced |= waiting.check.is_long();
                let give_up = waiting.check.give_up(waiting.is_announced, poll);
                Done::Waiting { waiting: Arc::new(waiting), give_up }
            }
        }
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
                let attempt = Attempt { is_told: true, ..waiting.attempt.clone() };
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

/// A Secret that is still encrypted must not reach the cluster, whichever of its fields hold the ciphertext (KS-DEC-27).
fn refuse_encrypted(manifests: &[Manifest]) -> Result<(), Failure> {
    let is_encrypted = |manifest: &&Manifest| {
        manifest.id().kind == "Secret"
            && manifest.id().group.is_empty()
            && manifest.value().get("sops").is_some()
            && !opts_out(manifest.value())
    };
    let Some(secret) = manifests.iter().find(is_encrypted) else { return Ok(()) };
    let message = format!(
        "{} is SOPS encrypted, configuring decryption is required for this secret to be reconciled",
        secret.id().subject()
    );
    Err(Failure::retry(reason::RECONCILIATION_FAILED, message))
}

/// KS-DEC-26
fn opts_out(object: &Value) -> bool {
    let annotation = object.pointer("/metadata/annotations/kustomize.toolkit.fluxcd.io~1decrypt");
    annotation.and_then(Value::as_str).is_some_and(|value| value.eq_ignore_ascii_case("disabled"))
}
