//! The step that one object needs (KS-SSA-20..33), found without writing anything.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use kube::api::DynamicObject;
use serde_json::Value;

use crate::apply::{Applier, Looks};
use crate::drift::has_drifted;
use crate::error::{is_not_found, status, whole_text};
use crate::ledger::Trust;
use crate::policy::{Mark, merges, skips_desired, skips_live};
use crate::precise::Precise;
use crate::request::{Mode, Target};
use crate::{Action, Entry, Error, Manifest, Mapping, MappingError, undeclared};

/// Times that fields which the server does not know are taken away from one object; it names all of them at once.
const MAX_TRIMS: usize = 3;

/// An object and what is to be done about it.
pub(crate) struct Evaluated {
    pub(crate) manifest: Manifest,
    pub(crate) mapping: Option<Arc<Mapping>>,
    pub(crate) desired: u64,
    pub(crate) step: Step,
}

impl Evaluated {
    /// The object, if it is going to be written.
    pub(crate) fn written(&self) -> Option<Entry> {
        let entry = || Entry { id: self.manifest.id().clone(), version: self.manifest.version().to_owned() };
        (!matches!(self.step, Step::Leave(_))).then(entry)
    }
}

pub(crate) enum Step {
    /// Nothing, and what to call that.
    Leave(Action),
    /// Apply; the cleanup of foreign field managers comes first, if there is one.
    Write { action: Action, cleanup: Option<Value> },
    /// Apply, and call it unchanged if the resource version stays this one.
    WriteOver { version: String },
    /// Delete the object if it is still in this state, wait until it is gone, and apply.
    Replace(Precise),
}

impl Applier<'_> {
    pub(crate) async fn evaluate(&self, mut manifest: Manifest) -> Result<Evaluated, Error> {
        let desired = hash(manifest.value());
        if skips_desired(&self.settings.owner.group, &manifest) {
            let mapping =
                self.session.mapper.mapping(&manifest.api_version(), &manifest.id().kind).await.ok();
            if mapping.as_ref().is_some_and(|mapping| !mapping.is_namespaced) {
                manifest.drop_namespace();
            }
            let step = Step::Leave(Action::Skipped);
            return Ok(Evaluated { manifest, mapping, desired, step });
        }
        let mapping = self.mapping(&manifest).await?;
        if !mapping.is_namespaced {
            manifest.drop_namespace();
        }
        let step = self.step(&mut manifest, &mapping, desired).await?;
        Ok(Evaluated { manifest, mapping: Some(mapping), desired, step })
    }

    async fn step(&self, manifest: &mut Manifest, mapping: &Mapping, desired: u64) -> Result<Step, Error> {
        let owner = &self.settings.owner;
        let id = manifest.id().clone();
        let trust = self.session.ledger().map_or(Trust::None, |ledger| ledger.trust(owner, &id, desired));
        if trust == Trust::Settled {
            return Ok(Step::Leave(Action::Unchanged));
        }
        let target = Target { client: &self.session.client, mapping, id: &id };
        let tried = self.dry_run(&target, manifest).await;
        let is_kept = Mark::SsaIfNotPresent.on_desired(&owner.group, manifest);
        match (tried, trust) {
            (Ok(_), Trust::Untouched { version }) if !is_kept => Ok(Step::WriteOver { version }),
            (Ok(tried), _) if tried.metadata.resource_version.is_none() => {
                Ok(Step::Write { action: Action::Created, cleanup: None })
            }
            (Ok(tried), _) => self.compare(&target, manifest, &tried, desired).await,
            (Err(error), _) => self.refused(&target, manifest, &error).await,
        }
    }

    /// The object is there: does an apply change it?
    async fn compare(
        &self,
        target: &Target<'_>,
        manifest: &Manifest,
        tried: &DynamicObject,
        desired: u64,
    ) -> Result<Step, Error> {
        let owner = &self.settings.owner;
        let Ok(live) = target.get().await else {
            // An account that may apply but not read applies its objects every time.
            return Ok(Step::Write { action: Action::Configured, cleanup: None });
        };
        let Some(live) = live else {
            return Ok(Step::Write { action: Action::Created, cleanup: None });
        };
        if skips_live(&owner.group, manifest, &live.metadata) {
            return Ok(Step::Leave(Action::Skipped));
        }
        let cleanup = if merges(&owner.group, manifest, &live.metadata) {
            None
        } else {
            self.managers.cleanup(&live.metadata)
        };
        if cleanup.is_some() || has_drifted(&live, tried) {
            return Ok(Step::Write { action: Action::Configured, cleanup });
        }
        if let Some((ledger, watches)) = &self.session.watched {
            watches.ensure(target.mapping);
            ledger.settle(owner, target.id, desired, &live);
        }
        Ok(Step::Leave(Action::Unchanged))
    }

    /// The server refuses the object. An object that is to be left alone does not fail for it, and one with an
    /// immutable field may be replaced, if its replacement is known to be valid (KS-SSA-50..52).
    async fn refused(
        &self,
        target: &Target<'_>,
        manifest: &Manifest,
        error: &kube::Error,
    ) -> Result<Step, Error> {
        let group = &self.settings.owner.group;
        let refusal = || Error::dry_run(manifest, error);
        if status(error).is_none() || is_not_found(error) {
            return Err(refusal());
        }
        let Ok(Some(live)) = target.get().await else { return Err(refusal()) };
        if skips_live(group, manifest, &live.metadata) {
            return Ok(Step::Leave(Action::Skipped));
        }
        let is_forced = self.settings.force
            || Mark::Force.on_desired(group, manifest)
            || Mark::Force.on_live(group, &live.metadata);
        if is_forced
            && is_immutable(error)
            && let Some(judged) = Precise::of(&live.metadata)
            && self.would_be_valid(target, manifest).await
        {
            return Ok(Step::Replace(judged));
        }
        Err(refusal())
    }

    /// The API server validates an object before it looks whether the name is taken.
    async fn would_be_valid(&self, target: &Target<'_>, manifest: &Manifest) -> bool {
        match target.try_create(manifest.value()).await {
            Ok(_) => true,
            Err(error) => status(&error).is_some_and(|status| status.reason == "AlreadyExists"),
        }
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

fn is_immutable(error: &kube::Error) -> bool {
    let is_code = status(error).is_some_and(|status| matches!(status.code, 409 | 422));
    let text = whole_text(error);
    is_code || text.contains("is immutable") || text.contains("immutable field")
}

fn hash(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.to_string().hash(&mut hasher);
    hasher.finish()
}
