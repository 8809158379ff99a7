//! The health of objects for people who ask, beside any run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use weir_api::Kustomization;
use weir_kstatus::{Assessment, Status};
use weir_runtime::ObjectKey;
use weir_ssa::ObjectId;

use super::super::KustomizationReconciler;
use super::super::expression::HealthChecks;
use super::{AT_ONCE, Check};
use crate::cluster::Cluster;

/// Time for all objects: those left are not known then.
const TIME: Duration = Duration::from_secs(20);

impl KustomizationReconciler {
    /// The health of objects, seen with the rights of a Kustomization, in their order.
    pub(crate) async fn health_of(
        &self,
        kustomization: &Kustomization,
        ids: Vec<ObjectId>,
    ) -> Vec<Assessment> {
        let Ok(cluster) = self.clusters.target(kustomization, &self.keys.secrets).await else {
            return vec![unreachable(); ids.len()];
        };
        let exprs = kustomization.spec.health_check_exprs.clone();
        // Expressions that do not compile are the condition's to report: the usual rules stand in here.
        let custom = tokio::task::spawn_blocking(move || HealthChecks::compile(&exprs)).await;
        let check = Check {
            targets: Vec::new(),
            short_jobs: Default::default(),
            started: Instant::now(),
            timeout: TIME,
            custom: custom.ok().and_then(Result::ok).map(Arc::new).unwrap_or_default(),
            owner: self.owner(kustomization),
            hides_others: self.hides_others(&cluster, kustomization),
        };
        self.assessments(&cluster, kustomization, &check, ids).await
    }

    /// The objects that a Kustomization waits for and that are not healthy yet.
    pub(crate) async fn awaited(&self, kustomization: &Kustomization) -> Vec<(ObjectId, Assessment)> {
        let Some(waiting) = self.memory.get(&ObjectKey::of(kustomization)).waiting else { return Vec::new() };
        let check = &waiting.check;
        let found = match self.clusters.target(kustomization, &self.keys.secrets).await {
            Ok(cluster) => self.assessments(&cluster, kustomization, check, check.targets.clone()).await,
            Err(_) => vec![unreachable(); check.targets.len()],
        };
        let found = check.targets.iter().cloned().zip(found);
        found.filter(|(_, assessment)| assessment.status != Status::Current).collect()
    }

    async fn assessments(
        &self,
        cluster: &Cluster,
        kustomization: &Kustomization,
        check: &Check,
        ids: Vec<ObjectId>,
    ) -> Vec<Assessment> {
        let (session, count) = (&cluster.session(kustomization), ids.len());
        let outdated = &self.outdated(cluster.fingerprint(), &check.custom, &ids).await;
        let looks =
            ids.into_iter().map(|id| async move { check.health(session, outdated, &id).await.0.assessment });
        let mut found = Vec::with_capacity(count);
        let looking = stream::iter(looks).buffered(AT_ONCE).for_each(|assessment| {
            found.push(assessment);
            std::future::ready(())
        });
        // Those that were not reached in time are filled up below.
        let _ = tokio::time::timeout(TIME, looking).await;
        found.resize(count, Assessment::unknown("it was not looked at in time".to_owned()));
        found
    }
}

fn unreachable() -> Assessment {
    Assessment::unknown("the cluster cannot be reached".to_owned())
}
