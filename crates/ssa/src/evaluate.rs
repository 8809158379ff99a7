//! The plan for one object (KS-SSA-20..33), made without writing anything but the versions of field managers.
//!
//! An object is tried by a dry run, so that nothing of a broken revision is applied in its stage. The only object that a stage writes
//! needs none where nobody has touched it: the apply itself is refused or done.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use kube::api::DynamicObject;
use serde_json::Value;

use crate::apply::{Applier, Looks, MAX_EVALUATIONS, Settings};
use crate::drift::has_drifted;
use crate::error::{is_forbidden, is_not_found, status, whole_text};
use crate::ledger::Trust;
use crate::live_object::LiveObject;
use crate::ownership::{is_of_another_version, migration};
use crate::policy::{Mark, merges, skips_desired, skips_live};
use crate::precise::Precise;
use crate::request::{Mode, Target};
use crate::{Action, Conflict, Entry, Error, Manifest, Mapping, MappingError, ignore, successor, undeclared};

/// Times that fields which the server does not know are taken away from one object; it names all of them at once.
const MAX_TRIMS: usize = 3;

/// An object and the plan for it.
pub(crate) struct Evaluated {
    pub(crate) manifest: Manifest,
    pub(crate) mapping: Option<Arc<Mapping>>,
    pub(crate) desired: u64,
    pub(crate) plan: Plan,
}

impl Evaluated {
    /// The object, if it is going to be written.
    pub(crate) fn written(&self) -> Option<Entry> {
        let entry = || Entry { id: self.manifest.id().clone(), version: self.manifest.version().to_owned() };
        (!matches!(self.plan, Plan::Leave(_))).then(entry)
    }

    /// Returns the others whose changes are about to be overwritten.
    pub(crate) fn conflict(&self) -> Conflict {
        match &self.plan {
            Plan::Write { conflict, .. } => conflict.clone(),
            _ => Conflict::default(),
        }
    }
}

/// An object of which only the ledger was asked.
struct Known {
    manifest: Manifest,
    mapping: Option<Arc<Mapping>>,
    desired: u64,
    /// Nothing for an object whose manifest asks to be skipped.
    trust: Option<Trust>,
}

impl Known {
    /// True if the server has to be asked about it.
    fn is_open(&self) -> bool {
        !matches!(self.trust, None | Some(Trust::Settled))
    }
}

/// The things that may be done about an object.
pub(crate) enum Plan {
    /// Nothing, and what to call that.
    Leave(Action),
    /// Apply without a dry run, and call it unchanged if the resource version stays this one. When the server refuses, the object is
    /// evaluated with a dry run.
    WriteUntried { version: String },
    /// Apply; the cleanup of foreign field managers comes first, if there is one.
    Write { action: Action, cleanup: Option<Value>, conflict: Conflict },
    /// Apply, and call it unchanged if the resource version stays this one.
    WriteOver { version: String },
    /// Delete the object if it is still in this state, wait until it is gone, and apply.
    Replace(Precise),
}

impl Applier<'_> {
    /// Makes the plans for all objects of a stage.
    pub(crate) async fn evaluate_all(&self, manifests: Vec<Manifest>) -> Result<Vec<Evaluated>, Error> {
        let at_once = self.settings.concurrency.max(1);
        let looks = manifests.into_iter().map(|manifest| self.look_up(manifest));
        let known: Vec<Known> = stream::iter(looks).buffered(at_once).try_collect().await?;
        let is_alone = known.iter().filter(|known| known.is_open()).count() == 1;
        let evaluations = known.into_iter().map(|known| self.decide(known, is_alone));
        stream::iter(evaluations).buffered(at_once).try_collect().await
    }

    /// Makes the plan for one object beside others.
    pub(crate) async fn evaluate(&self, manifest: Manifest) -> Result<Evaluated, Error> {
        self.decide(self.look_up(manifest).await?, false).await
    }

    async fn look_up(&self, mut manifest: Manifest) -> Result<Known, Error> {
        let owner = &self.settings.owner;
        let rules = (self.settings.ignored.fingerprint(), self.session.user.as_deref());
        let desired = hash(manifest.value(), rules);
        let is_skipped = skips_desired(&owner.group, &manifest);
        let mapping = if is_skipped {
            match self.session.mapper.mapping(&manifest.api_version(), &manifest.id().kind).await {
                // Without an answer the object might be known by another name than before, and pruned by the old one.
                Err(error @ MappingError::Discovery { .. }) => {
                    return Err(Error::mapping(manifest.id(), &error));
                }
                found => found.ok(),
            }
        } else {
            Some(self.mapping(&manifest).await?)
        };
        if mapping.as_ref().is_some_and(|mapping| !mapping.is_namespaced) {
            manifest.drop_namespace();
        }
        let ledger = self.session.ledger();
        let trust = || ledger.map_or(Trust::None, |ledger| ledger.trust(owner, manifest.id(), desired));
        let trust = (!is_skipped).then(trust);
        Ok(Known { manifest, mapping, desired, trust })
    }

    async fn decide(&self, known: Known, is_alone: bool) -> Result<Evaluated, Error> {
        let Known { mut manifest, mapping, desired, trust } = known;
        let plan = match (trust, &mapping) {
            (Some(Trust::Settled), _) => Plan::Leave(Action::Unchanged),
            (Some(Trust::Ended), _) if self.settings.leaves_ended => Plan::Leave(Action::Unchanged),
            (Some(Trust::Left), _) if self.settings.is_correction => Plan::Leave(Action::Unchanged),
            (Some(Trust::Untouched { version }), _) if is_alone && self.needs_no_trial(&manifest) => {
                Plan::WriteUntried { version }
            }
            (Some(trust), Some(mapping)) => self.try_out(&mut manifest, mapping, desired, trust).await?,
            _ => Plan::Leave(Action::Skipped),
        };
        Ok(Evaluated { manifest, mapping, desired, plan })
    }

    /// Returns true for an object of which a dry run can show nothing but a refusal, which the apply itself shows as well.
    fn needs_no_trial(&self, manifest: &Manifest) -> bool {
        let Settings { owner, ignored, migrates_versions, .. } = self.settings;
        !migrates_versions && ignored.is_empty() && !Mark::SsaIfNotPresent.on_desired(&owner.group, manifest)
    }

    /// Makes the plan by a dry run.
    async fn try_out(
        &self,
        manifest: &mut Manifest,
        mapping: &Mapping,
        desired: u64,
        trust: Trust,
    ) -> Result<Plan, Error> {
        let owner = &self.settings.owner;
        let id = manifest.id().clone();
        let target = Target { client: &self.session.client, mapping, id: &id };
        let mut is_migrated = self.settings.migrates_versions && self.migrate(&target, manifest).await?;
        let mut tried = self.dry_run(&target, manifest).await;
        if tried.as_ref().is_err_and(is_of_another_version) && self.migrate(&target, manifest).await? {
            is_migrated = true;
            tried = self.dry_run(&target, manifest).await;
        }
        let tried = match tried {
            Ok(tried) => tried,
            Err(error) => return self.refused(&target, manifest, &error).await,
        };
        let is_kept = Mark::SsaIfNotPresent.on_desired(&owner.group, manifest);
        let has_ignored = !self.settings.ignored.of(&tried).is_empty();
        // The version of this moment: a controller may have written a status that no watch has told of yet.
        let Some(version) = tried.metadata.resource_version.clone() else { return Ok(created()) };
        let is_untouched = matches!(trust, Trust::Untouched { .. });
        if is_untouched && !is_kept && !is_migrated && !has_ignored {
            return Ok(Plan::WriteOver { version });
        }
        match self.compare(&target, manifest, &tried, desired).await? {
            // The managers are other ones, and so the object is.
            Plan::Leave(Action::Unchanged) if is_migrated => Ok(configured()),
            plan => Ok(plan),
        }
    }

    /// Makes managers of other versions of an object's API managers of the desired one; true if there were any (KS-SSA-22). A preview leaves
    /// them.
    async fn migrate(&self, target: &Target<'_>, manifest: &Manifest) -> Result<bool, Error> {
        if self.is_preview {
            return Ok(false);
        }
        let mut attempts = 0;
        loop {
            attempts += 1;
            let live = match target.metadata().await {
                Ok(Some(live)) => live,
                Ok(None) => return Ok(false),
                Err(error) if is_forbidden(&error) || is_not_found(&error) => return Ok(false),
                Err(error) => return Err(Error::query(target.id, &error)),
            };
            if skips_live(&self.settings.owner.group, manifest, &live.metadata) {
                return Ok(false);
            }
            let Some(patch) = migration(&live.metadata, &manifest.api_version()) else { return Ok(false) };
            match self.clean_up(target, &patch).await {
                Err(Error::Changed { .. }) if attempts < MAX_EVALUATIONS => {}
                Err(error) => return Err(error),
                Ok(()) => {
                    let (object, version) = (target.id.subject(), manifest.version());
                    tracing::info!(%object, version, "field managers are migrated to another version of the API");
                    return Ok(true);
                }
            }
        }
    }

    /// The object is there: does an apply change it?
    async fn compare(
        &self,
        target: &Target<'_>,
        manifest: &mut Manifest,
        tried: &DynamicObject,
        desired: u64,
    ) -> Result<Plan, Error> {
        let owner = &self.settings.owner;
        if let Some((ledger, watches)) = &self.session.watched {
            ledger.make_room(owner, target.id);
            watches.ensure(target.mapping, &target.id.namespace);
        }
        let live = match target.get().await {
            Ok(Some(live)) => live,
            Ok(None) => return Ok(created()),
            // An account that may apply but not read applies its objects every time.
            Err(error) if is_forbidden(&error) => return Ok(configured()),
            Err(error) => return Err(Error::query(target.id, &error)),
        };
        if skips_live(&owner.group, manifest, &live.metadata) {
            return Ok(Plan::Leave(Action::Skipped));
        }
        let cleanup = if merges(&owner.group, manifest, &live.metadata) {
            None
        } else {
            self.managers.cleanup(&live.metadata)
        };
        let ignored = self.settings.ignored.of(tried);
        let (own_live, own_tried) = (ignore::without(&live, &ignored), ignore::without(tried, &ignored));
        if cleanup.is_some() || has_drifted(&own_live, &own_tried) {
            let conflict = Conflict::of(owner, &self.settings.field_manager, &own_live, &own_tried);
            let others = self.managers.others_that_apply(&live.metadata, cleanup.is_some());
            ignore::resolve(manifest.value_mut(), &ignored, &live, tried, &others);
            return Ok(Plan::Write { action: Action::Configured, cleanup, conflict });
        }
        if let Some(ledger) = self.session.ledger() {
            ledger.settle(owner, target.id, Some(desired), &mut LiveObject::from(&live));
        }
        Ok(Plan::Leave(Action::Unchanged))
    }

    /// The server refuses the object. An object that is to be left alone does not fail for it, and one with an
    /// immutable field may be replaced, if its replacement is known to be valid (KS-SSA-50..52).
    async fn refused(
        &self,
        target: &Target<'_>,
        manifest: &Manifest,
        error: &kube::Error,
    ) -> Result<Plan, Error> {
        let group = &self.settings.owner.group;
        let refusal = || Error::dry_run(manifest, error);
        if status(error).is_none() {
            return Err(refusal());
        }
        let live = target.get().await;
        if let Ok(Some(live)) = &live
            && skips_live(group, manifest, &live.metadata)
        {
            return Ok(Plan::Leave(Action::Skipped));
        }
        if is_not_found(error) {
            return Err(self.missing(manifest).await.unwrap_or_else(refusal));
        }
        let Ok(Some(live)) = live else { return Err(refusal()) };
        let is_forced = self.settings.force
            || Mark::Force.on_desired(group, manifest)
            || Mark::Force.on_live(group, &live.metadata);
        let may_replace = is_forced && is_immutable(error) && !successor::is_of_one_state(manifest);
        let judged = Precise::of(&live.metadata).filter(|_| may_replace);
        let Some(judged) = judged else { return Err(refusal()) };
        match self.obstacle(target, manifest, &live).await {
            None => Ok(Plan::Replace(judged)),
            Some(error) => Err(Error::dry_run(manifest, &error)),
        }
    }

    /// The error of a kind that has gone since it was looked up, if that is why its object cannot be applied.
    async fn missing(&self, manifest: &Manifest) -> Option<Error> {
        let (id, api_version) = (manifest.id(), manifest.api_version());
        self.session.mapper.forget(&api_version);
        let gone = self.session.mapper.mapping(&api_version, &id.kind).await.err()?;
        Some(Error::mapping(id, &gone))
    }

    /// Tries the object that is to take the place of another one. Returns the error for which it could not be made.
    async fn obstacle(
        &self,
        target: &Target<'_>,
        manifest: &Manifest,
        live: &DynamicObject,
    ) -> Option<kube::Error> {
        let tried = target.try_create(&successor::beside(manifest, live)).await;
        tried.err().filter(|error| !successor::is_only_in_the_way(error))
    }

    async fn dry_run(
        &self,
        target: &Target<'_>,
        manifest: &mut Manifest,
    ) -> Result<DynamicObject, kube::Error> {
        let mut trims = 0;
        loop {
            let tried = target.apply(&self.settings.field_manager, manifest.value(), Mode::DryRun).await;
            let Err(error) = &tried else { return tried };
            trims += 1;
            if trims > MAX_TRIMS || !undeclared::remove(target.id, manifest.value_mut(), &whole_text(error)) {
                return tried;
            }
        }
    }

    /// The kind's address. A kind that this very run has defined may take a moment to show up (KS-SSA-18).
    async fn mapping(&self, manifest: &Manifest) -> Result<Arc<Mapping>, Error> {
        let id = manifest.id();
        let mut looks = Looks::default();
        loop {
            let found = self.session.mapper.mapping(&manifest.api_version(), &id.kind).await;
            let is_coming = matches!(found, Err(MappingError::NoMatch { .. })) && self.defines(id);
            if !is_coming || !self.look_again(&mut looks).await? {
                return found.map_err(|error| Error::mapping(id, &error));
            }
        }
    }
}

/// Returns true when a new object might do what the one that is there cannot. A conflict is none of these: it says that the object, or a
/// quota, is changing at the moment (KS-SSA-50).
fn is_immutable(error: &kube::Error) -> bool {
    let is_invalid = status(error).is_some_and(|status| status.code == 422);
    let text = whole_text(error);
    is_invalid || text.contains("is immutable") || text.contains("immutable field")
}

fn created() -> Plan {
    Plan::Write { action: Action::Created, cleanup: None, conflict: Conflict::default() }
}

fn configured() -> Plan {
    Plan::Write { action: Action::Configured, cleanup: None, conflict: Conflict::default() }
}

/// A number that differs where another manifest, or the same one under other rules or by another user, does.
fn hash(value: &Value, rules: (u64, Option<&str>)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.to_string().hash(&mut hasher);
    rules.hash(&mut hasher);
    hasher.finish()
}
