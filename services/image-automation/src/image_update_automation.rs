//! The ImageUpdateAutomation kind.

mod act;
mod decide;
mod failure;
mod observe;
mod refspec_note;
mod report;

use std::sync::Arc;

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use weir_access::Secrets;
use weir_api::{FluxObject, GitRepository, ImagePolicy, ImageUpdateAutomation};
use weir_auth::Logins;
use weir_git::Git;
use weir_runtime::condition::Writer;
use weir_runtime::{Cache, Cause, Failure, ObjectKey, Outcome, Reconciler, Run};

use self::decide::Work;
pub(crate) use self::decide::engine_of;
use self::refspec_note::RefspecNote;
use crate::metrics::AutomationMetrics;
use crate::resolution::Resolutions;

/// Settings of runs, from the service's flags.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    /// `--no-cross-namespace-refs`.
    pub(crate) no_cross_namespace_refs: bool,
    /// Gate `ObjectLevelWorkloadIdentity`.
    pub(crate) workload_identity: bool,
    /// Gate `GitForcePushBranch`.
    pub(crate) force_push_branch: bool,
    /// Gate `GitAllBranchReferences`.
    pub(crate) all_branch_references: bool,
}

/// Runs automations, for the controller and for previews.
pub(crate) struct Automation {
    pub(crate) client: kube::Client,
    pub(crate) secrets: Secrets,
    pub(crate) git: Git,
    pub(crate) logins: Logins,
    pub(crate) policies: Cache<ImagePolicy>,
    pub(crate) repositories: Cache<GitRepository>,
    pub(crate) resolutions: Resolutions,
    pub(crate) metrics: AutomationMetrics,
    pub(crate) settings: Settings,
}

/// The commit that a run would make.
pub(crate) struct Preview {
    pub(crate) message: String,
    pub(crate) files: Vec<String>,
}

impl Automation {
    /// Computes the commit that the next run would make; nothing is pushed.
    pub(crate) async fn preview(
        &self,
        automation: Arc<ImageUpdateAutomation>,
    ) -> Result<Option<Preview>, Failure> {
        let observed = self.observe(automation, Timestamp::now(), &CancellationToken::new()).await;
        let mut work = decide::decide(&observed)?;
        // An earlier revision does not matter here: the result must name everything that is to be done.
        work.known_revision = None;
        self.log_in(&mut work).await?;
        self.preview_of(&work).await
    }

    /// Completes the remote with the credentials that its provider gives, if it has one.
    async fn log_in(&self, work: &mut Work) -> Result<(), Failure> {
        let login = work.access.log_in::<ImageUpdateAutomation>(
            &self.logins,
            &work.automation,
            work.account.as_deref(),
        );
        login.await.map_err(|error| {
            failure::source_manager(format!("failed to configure authentication options: {error}"))
        })
    }
}

/// The reconciler; previews share the automation with it.
pub(crate) struct AutomationReconciler(pub(crate) Arc<Automation>);

impl Reconciler for AutomationReconciler {
    type Object = ImageUpdateAutomation;

    fn forget(&self, key: &ObjectKey) {
        self.0.logins.forget(ImageUpdateAutomation::KIND, &key.namespace, &key.name);
        self.0.metrics.problem_files.forget(key);
    }

    async fn reconcile(&self, run: Run<ImageUpdateAutomation>) -> Outcome<ImageUpdateAutomation> {
        run.looking(&Writer::of(&*run.object, run.now).progress());
        let observed = self.0.observe(run.object.clone(), run.now, &run.cancel).await;
        let is_woken_only = run.causes == [Cause::Dependency];
        if let Some(next) = decide::superfluous(&observed, run.now).filter(|_| is_woken_only) {
            return Outcome::new((*run.object).clone(), next);
        }
        if let Some(next) = decide::waits_for_repository(&observed, run.now) {
            return Outcome::new((*run.object).clone(), next);
        }
        let note = RefspecNote::new(&run);
        let result = match decide::decide(&observed) {
            Ok(mut work) => match self.0.log_in(&mut work).await {
                Ok(()) => self.0.act(&work, &note, run.now).await,
                Err(failure) => Err(failure),
            },
            Err(failure) => Err(failure),
        };
        if run.cancel.is_cancelled() && result.as_ref().is_err_and(failure::is_cancelled) {
            return Outcome::superseded((*run.object).clone());
        }
        report::report(&note.object(), observed.policies.unwrap_or_default(), result, run.now)
    }
}
