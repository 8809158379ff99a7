//! Gathers what a decision needs: caches, memory, and the variables.

use std::sync::Arc;
use std::time::Instant;

use kube::Api;
use weir_api::Kustomization;
use weir_kustomize::SecretPart;
use weir_runtime::client::reason;
use weir_runtime::{Cause, ObjectKey};
use weir_ssa::{Entry, Manifest, Session};

use super::expression::{self, HealthChecks, Verdict, Visibility};
use super::failure::Failure;
use super::memory::{Inputs, Unit};
use super::{KustomizationReconciler, inventory};
use crate::cluster::{Cluster, TargetError};
use crate::decryption::Decryption;
use crate::mask::Masks;
use crate::source::{Source, SourceId};
use crate::variables::{self, Variables};

/// A dependency as it is known.
#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    pub(crate) key: ObjectKey,
    /// The Kustomization, or why it is not found.
    pub(crate) found: Result<Arc<Kustomization>, String>,
    /// Verdict of its `readyExpr`; none without one, or while the dependency does not exist.
    pub(crate) verdict: Option<Verdict>,
}

/// Everything that [`super::decide`] looks at.
pub(crate) struct Observed {
    pub(crate) kustomization: Arc<Kustomization>,
    pub(crate) source_id: SourceId,
    pub(crate) source: Source,
    pub(crate) dependencies: Vec<Dependency>,
    /// `healthCheckExprs`, compiled; or what is wrong with them.
    pub(crate) health_checks: Result<Arc<HealthChecks>, String>,
    /// Nothing without `postBuild`, or while there is no artifact to substitute in.
    pub(crate) variables: Option<Result<Variables, variables::Error>>,
    /// Nothing without `decryption`, or while there is no artifact to decrypt.
    pub(crate) decryption: Option<Result<Decryption, String>>,
    /// Inputs of the result, once there is an artifact, and keys and cluster are known.
    pub(crate) inputs: Option<Inputs>,
    /// The cluster to apply to.
    pub(crate) target: Result<Cluster, TargetError>,
    pub(crate) causes: Vec<Cause>,
    pub(crate) unit: Unit,
    /// True when the watches prove that every object is as it was applied.
    pub(crate) is_proved: bool,
    /// True when objects may have other defaults than they were applied with, of which no watch tells.
    pub(crate) is_doubted: bool,
    /// True when somebody asks for a run and the account may no longer apply what it has applied.
    pub(crate) lacks_rights: bool,
    /// The time to decide by.
    pub(crate) now: Instant,
}

impl Observed {
    /// Returns true when everything in the cluster is as the last apply has left it, and an apply would set the same defaults.
    pub(super) const fn is_certain(&self) -> bool {
        self.is_proved && !self.is_doubted
    }

    /// Returns everything that may be in the cluster, whether the status has it or not.
    pub(super) fn known_inventory(&self) -> Vec<Entry> {
        self.unit.known_inventory(inventory::entries(&self.kustomization))
    }

    /// Returns a failure whose message shows neither the variables that come from Secrets nor what was decrypted: whatever kind of
    /// object they were put into, the API server may repeat them.
    pub(super) fn discreet(&self, failure: Failure) -> Failure {
        Failure { message: self.masks(&[], &[]).text(&failure.message), ..failure }
    }

    /// Returns a session in the cluster to apply to, as whom the Kustomization acts there (KS-REC-52).
    pub(super) fn session(&self) -> Result<Session, Failure> {
        let failed = |error: &TargetError| Failure::no_client(&error.to_string());
        self.target.as_ref().map(|cluster| cluster.session(&self.kustomization)).map_err(failed)
    }

    /// Returns the values that nobody is to see who may only see the Kustomization.
    pub(super) fn masks(&self, manifests: &[Manifest], parts: &[SecretPart]) -> Masks {
        let variables = self.variables.as_ref().and_then(|variables| variables.as_ref().ok());
        let decrypted = match &self.decryption {
            Some(Ok(decryption)) => decryption.revealed(),
            _ => Vec::new(),
        };
        Masks::new(variables.unwrap_or(&Variables::default()), manifests, parts, &decrypted)
    }

    /// Returns the inventory as the last apply has left it.
    pub(super) fn current_inventory(&self) -> Vec<Entry> {
        inventory::current(&self.kustomization, self.unit.unwritten())
    }
}

impl KustomizationReconciler {
    /// Finds the source of a Kustomization for a run, and remembers its artifact: another one that the watches bring from now on is news.
    pub(super) async fn look(&self, kustomization: &Kustomization) -> Source {
        let key = ObjectKey::of(kustomization);
        self.memory.looks(&key);
        let source = self.sources.find(&SourceId::of(kustomization)).await;
        if let Source::Artifact(artifact) = &source {
            self.memory.saw(&key, artifact);
        }
        source
    }

    /// Gathers what is known beside the source. Remembers nothing: previews, which are no runs, observe too.
    pub(super) async fn observe(
        &self,
        kustomization: &Arc<Kustomization>,
        source: Source,
        causes: &[Cause],
    ) -> Observed {
        let kustomization = Arc::clone(kustomization);
        let key = ObjectKey::of(&*kustomization);
        let source_id = SourceId::of(&kustomization);
        let mut dependencies = Vec::with_capacity(kustomization.spec.depends_on.len());
        for key in dependencies_of(&kustomization) {
            dependencies.push(self.dependency(key).await);
        }
        let (dependencies, health_checks) = evaluated(&kustomization, dependencies, self.visibility()).await;
        let (variables, decryption) = match &source {
            Source::Artifact(_) => (
                Variables::load(&self.client, &kustomization).await.transpose(),
                self.keys.load(&kustomization).await.transpose(),
            ),
            Source::Missing | Source::Empty | Source::Unreadable(_) => (None, None),
        };
        let unit = self.memory.get(&key);
        let causes = unit.causes(causes);
        let target = self.clusters.target(&kustomization, &self.keys.secrets).await;
        let inputs = inputs_of(&kustomization, &source, variables.as_ref(), decryption.as_ref(), &target);
        let entries = inventory::current(&kustomization, unit.unwritten());
        let owner = self.owner(&kustomization);
        // An inventory that somebody has taken out of the status has to be written anew.
        let is_whole = unit.applied.as_ref().is_none_or(|applied| applied.objects == entries.len());
        let is_proved =
            is_whole && target.as_ref().is_ok_and(|cluster| cluster.ledger().proves(&owner, &entries));
        let is_doubted = target.as_ref().is_ok_and(|cluster| cluster.ledger().doubts(&owner, &entries));
        let is_asked = causes.contains(&Cause::Requested);
        let lacks_rights = is_asked && lacks_rights(&target, &kustomization, &entries).await;
        Observed {
            kustomization,
            source_id,
            source,
            dependencies,
            health_checks,
            variables,
            decryption,
            inputs,
            target,
            causes,
            unit,
            is_proved,
            is_doubted,
            lacks_rights,
            now: Instant::now(),
        }
    }

    /// Looks for a dependency. Where one namespace is watched, those of others are read from the API server, as in Flux.
    async fn dependency(&self, key: ObjectKey) -> Dependency {
        let is_watched = self.settings.watched.as_ref().is_none_or(|watched| *watched == key.namespace);
        let found = match self.kustomizations.get(&key) {
            Some(known) => Ok(known),
            None if is_watched => {
                Err(format!("kustomizations.kustomize.toolkit.fluxcd.io \"{}\" not found", key.name))
            }
            None => {
                let api: Api<Kustomization> = Api::namespaced(self.client.clone(), &key.namespace);
                api.get(&key.name).await.map(Arc::new).map_err(reason)
            }
        };
        Dependency { key, found, verdict: None }
    }

    /// Returns how much expressions see of dependencies.
    fn visibility(&self) -> Visibility {
        if self.settings.no_cross_namespace_refs { Visibility::OwnNamespace } else { Visibility::Whole }
    }
}

/// No watch tells of rights. One object stands for all: a right that only others need is asked for by the next full run.
async fn lacks_rights(
    target: &Result<Cluster, TargetError>,
    kustomization: &Kustomization,
    entries: &[Entry],
) -> bool {
    let (Ok(cluster), Some(entry)) = (target, entries.first()) else { return false };
    !cluster.may_apply(kustomization, &entry.id).await
}

/// Evaluates the expressions of the spec, on threads where that may take its time.
async fn evaluated(
    kustomization: &Arc<Kustomization>,
    mut dependencies: Vec<Dependency>,
    visibility: Visibility,
) -> (Vec<Dependency>, Result<Arc<HealthChecks>, String>) {
    let spec = &kustomization.spec;
    if spec.health_check_exprs.is_empty() && spec.depends_on.iter().all(|on| on.ready_expr.is_none()) {
        return (dependencies, Ok(Arc::default()));
    }
    let (own, asked) = (Arc::clone(kustomization), dependencies.clone());
    let evaluation = weir_evaluation::evaluated(move |may_go_on| {
        let verdicts = own.spec.depends_on.iter().zip(asked).map(|(reference, dependency)| {
            let text = reference.ready_expr.as_deref().filter(|text| !text.is_empty())?;
            Some(expression::is_ready(text, &own, &*dependency.found.ok()?, visibility, may_go_on))
        });
        verdicts.collect::<Vec<_>>()
    });
    // Expressions that take too long now may not do so later.
    let unknown = |text: String| vec![Some(Verdict::Unknown(text)); spec.depends_on.len()];
    let verdicts = evaluation.await.unwrap_or_else(unknown);
    for ((dependency, reference), verdict) in dependencies.iter_mut().zip(&spec.depends_on).zip(verdicts) {
        dependency.verdict = verdict.filter(|_| reference.ready_expr.is_some() && dependency.found.is_ok());
    }
    let own = Arc::clone(kustomization);
    let compiling = tokio::task::spawn_blocking(move || HealthChecks::compile(&own.spec.health_check_exprs));
    let checks = compiling.await.unwrap_or_else(|_| Err("the evaluator failed".to_owned()));
    (dependencies, checks.map(Arc::new))
}

/// The Kustomizations that must be ready first; cross-namespace references are always allowed here (KS 5).
pub(crate) fn dependencies_of(kustomization: &Kustomization) -> impl Iterator<Item = ObjectKey> + '_ {
    let own = kustomization.metadata.namespace.as_deref().unwrap_or_default();
    kustomization.spec.depends_on.iter().map(move |reference| {
        let named = reference.namespace.as_deref().filter(|text| !text.is_empty());
        ObjectKey::new(named.unwrap_or(own), reference.name.as_str())
    })
}

fn inputs_of(
    kustomization: &Kustomization,
    source: &Source,
    variables: Option<&Result<Variables, variables::Error>>,
    decryption: Option<&Result<Decryption, String>>,
    target: &Result<Cluster, TargetError>,
) -> Option<Inputs> {
    let Source::Artifact(artifact) = source else { return None };
    let variables = match variables {
        None => 0,
        Some(Ok(variables)) => variables.fingerprint(),
        // Objects that opt out are applied all the same (KS-SUB-7).
        Some(Err(error)) => error.fingerprint(),
    };
    let keys = match decryption {
        None => 0,
        Some(Ok(decryption)) => decryption.fingerprint(),
        Some(Err(_)) => return None,
    };
    Some(Inputs {
        artifact: artifact.digest.clone(),
        uid: kustomization.metadata.uid.clone().unwrap_or_default(),
        generation: kustomization.metadata.generation.unwrap_or_default(),
        variables,
        keys,
        target: target.as_ref().ok()?.fingerprint(),
    })
}
