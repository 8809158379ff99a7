//! The health of what was applied.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use weir_api::Kustomization;
use weir_runtime::Run;
use weir_ssa::{ObjectId, Session};

use crate::cluster::Cluster;
use crate::kustomization::KustomizationReconciler;
use crate::kustomization::attempt::{Attempt, Done};
use crate::kustomization::decide::continued;
use crate::kustomization::failure::{Failure, reason};
use crate::kustomization::health::{self, Check, Verdict, timeout_of};
use crate::kustomization::memory::Waiting;
use crate::kustomization::observe::Observed;

/// The objects of a health check.
pub(super) struct Subjects {
    /// Objects that are waited for; nothing where the Kustomization waits for none.
    pub(super) targets: Option<Vec<ObjectId>>,
    /// Jobs that may be gone soon after they have ended.
    pub(super) short_jobs: Arc<HashSet<ObjectId>>,
}

impl KustomizationReconciler {
    /// Nothing had to be applied: the inventory stays, health is looked at again.
    pub(super) async fn confirm(
        &self,
        run: &Run<Kustomization>,
        observed: &Observed,
        mut attempt: Attempt,
        digest: String,
    ) -> Done {
        let session = match observed.session() {
            Ok(session) => session,
            Err(failure) => return Done::Refused(failure),
        };
        attempt.digest = Some(digest);
        let entries = observed.current_inventory();
        let short_jobs =
            observed.unit.applied.as_ref().map(|it| Arc::clone(&it.short_jobs)).unwrap_or_default();
        let targets = health::targets_of_inventory(&run.object, &entries);
        attempt.inventory = Some(entries);
        self.start_check(run, observed, &session, attempt, Subjects { targets, short_jobs }).await
    }

    pub(super) async fn start_check(
        &self,
        run: &Run<Kustomization>,
        observed: &Observed,
        session: &Session,
        mut attempt: Attempt,
        Subjects { targets, short_jobs }: Subjects,
    ) -> Done {
        let (Some(targets), false, Some(inputs)) = (targets, attempt.is_correction, &observed.inputs) else {
            return Done::Finished(attempt, None);
        };
        attempt.enter(run, "Running health checks");
        let timeout = timeout_of(&run.object);
        let custom = observed.health_checks.clone().unwrap_or_default();
        let hides_others =
            observed.target.as_ref().map_or(true, |cluster| self.hides_others(cluster, &run.object));
        let owner = self.owner(&run.object);
        let before = continued(observed, attempt.digest.as_deref());
        let started = attempt.check(before.map(|before| &**before));
        let check = Check { targets, short_jobs, started, timeout, custom, owner, hides_others };
        // A request is handled with the next write of the status; whoever made it reads the conditions then.
        let is_announced = run.is_requested() || before.is_some_and(|before| before.is_announced);
        let waiting = Waiting { inputs: inputs.clone(), attempt, check, is_announced };
        // Asked for before the first look, so that no change in between is missed.
        session.ledger().inspect(|ledger| ledger.await_status(&self.owner(&run.object)));
        self.check(session, waiting).await
    }

    /// Returns true when expressions are to see no more of the objects of others than is public. With an account of its own the
    /// rights of that account say what the Kustomization may see.
    pub(in crate::kustomization) fn hides_others(
        &self,
        cluster: &Cluster,
        kustomization: &Kustomization,
    ) -> bool {
        self.settings.no_cross_namespace_refs && cluster.account(kustomization).is_none()
    }

    pub(super) async fn check(&self, session: &Session, mut waiting: Waiting) -> Done {
        let (custom, targets) = (&waiting.check.custom, &waiting.check.targets);
        let outdated = self.outdated(waiting.inputs.target, custom, targets).await;
        let (verdict, poll) = waiting.check.look(session, &outdated, self.settings.fails_fast).await;
        let took = waiting.check.started.elapsed();
        match verdict {
            Verdict::Passed => Done::Finished(waiting.attempt, Some(took)),
            Verdict::Failed(cause) => {
                Done::Failed(waiting.attempt, Failure::retry(reason::HEALTH_CHECK_FAILED, cause))
            }
            Verdict::Waiting => {
                waiting.is_announced = waiting.is_announced
                    || (waiting.check.is_long() && self.announcements.take(Instant::now()));
                let give_up = waiting.check.give_up(waiting.is_announced, poll);
                Done::Waiting { waiting: Arc::new(waiting), give_up }
            }
        }
    }
}
