//! The plan of a run: a pure function of what was observed.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

use jiff::Timestamp;
use kube::ResourceExt;
use weir_access::{GitAccess, GitAccessError};
use weir_api::{FluxObject, GitRepository, ImageUpdateAutomation, condition_type, image::GitSpec, reason};
use weir_auth::{AppError, GitLoginError};
use weir_git::{ObjectId, Reference};
use weir_runtime::{Failure, Next, ObjectKey, condition};
use weir_setters::Setters;
use weir_template::Engine;
use weir_verify::git::SigningKey;

use super::{
    Settings,
    failure::{self, reason as reasons},
    observe::Observed,
    refspec_note,
};
use crate::{
    git_source::{self, GitPlan, PlanError},
    policy::{self, Selected},
};

/// The annotation that names the language of the message's template (TP-2).
const ENGINE: &str = "weir.dev/message-template-engine";

/// The only kind of source.
const GIT_REPOSITORY: &str = GitRepository::KIND;

/// Age up to which the GitRepository of an automation may come later. The API server tells ages in whole seconds.
const MADE_TOGETHER: Duration = Duration::from_secs(2);

/// Work of one run.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) automation: ObjectKey,
    /// The GitRepository.
    pub(super) source: ObjectKey,
    /// The remote, and the login that provides its credentials.
    pub(super) access: GitAccess,
    /// The ServiceAccount that logs in, of the automation's namespace (IU-27).
    pub(super) account: Option<String>,
    pub(super) git: GitPlan,
    /// The revision at which there is nothing to do, if nothing else has changed (IU-6).
    pub(super) known_revision: Option<String>,
    /// True when Flux would begin with a look at the references, whose failures have words of their own.
    pub(super) looks_first: bool,
    pub(super) setters: Setters,
    /// Folder in which markers are looked for.
    pub(super) path: String,
    pub(super) commit: Commit,
    /// The note of the status about a refspec that an earlier run owes, if there is one (IU-12).
    refspec_note: Option<String>,
    pub(super) settings: Settings,
}

/// The author, the message and the signature of a commit.
#[derive(Debug)]
pub(super) struct Commit {
    pub(super) name: String,
    pub(super) email: String,
    pub(super) template: String,
    /// The language of the template, unless the template is to show it.
    pub(super) engine: Option<Engine>,
    pub(super) values: BTreeMap<String, String>,
    /// The key that signs, if one does.
    pub(super) signing_key: Option<SigningKey>,
}

impl Work {
    /// Returns true when an earlier run has pushed this commit and not the refspec.
    pub(super) fn owes_refspec_of(&self, commit: ObjectId) -> bool {
        let is_noted = self.refspec_note.as_ref().is_some_and(|note| refspec_note::is_about(note, commit));
        self.git.refspec.is_some() && is_noted
    }
}

/// Decides on the work of a run, or why there can be none.
pub(super) fn decide(observed: &Observed) -> Result<Work, Failure> {
    let automation = &*observed.automation;
    let selector = |text: &String| {
        Failure::stalled(reasons::INVALID_SELECTOR, format!("failed to parse policy selector: {text}"))
    };
    let selected = observed.policies.as_ref().map_err(selector)?;
    let git = git_spec(automation)?;
    let (repository, access) = repository(observed)?;
    check_gate(observed, repository)?;
    let access = access.clone().map_err(access_failure)?;
    let plan = GitPlan::of(git, repository).map_err(|error| match error {
        PlanError::Name(_) => failure::checkout_source(error),
        PlanError::Refspec(_) => failure::update_source(error),
        error => failure::source_manager(error),
    })?;
    let signing_key = observed.signing_key.clone().transpose().map_err(failure::source_manager)?;
    check_strategy(automation)?;
    let key = ObjectKey::of(automation);
    let setters = policy::setters(&key.namespace, selected).map_err(failure::policies)?;
    Ok(Work {
        source: ObjectKey::of(repository),
        access,
        account: repository.spec.service_account_name.clone(),
        known_revision: known_revision(automation, &plan, selected),
        looks_first: looks_first(automation, &plan, selected),
        setters,
        path: automation.spec.update.as_ref().and_then(|update| update.path.clone()).unwrap_or_default(),
        commit: Commit {
            name: printable(git.commit.author.name.as_deref().unwrap_or_default()),
            email: printable(&git.commit.author.email),
            template: git.commit.message_template.clone().unwrap_or_default(),
            engine: engine(automation)?,
            values: git.commit.message_template_values.clone(),
            signing_key,
        },
        refspec_note: refspec_note::of(automation),
        settings: observed.settings,
        automation: key,
        git: plan,
    })
}

/// When to look again, if the GitRepository of an automation that is new is not there: whoever makes both does so in any order (IU-5).
pub(super) fn waits_for_repository(observed: &Observed, now: Timestamp) -> Option<Next> {
    let automation = &observed.automation;
    let was_run = automation.status.as_ref().is_some_and(|status| !status.conditions.is_empty());
    if was_run || observed.repository.is_some() || observed.is_blocked() {
        return None;
    }
    let made = automation.metadata.creation_timestamp.as_ref()?;
    let age = Duration::try_from(now.duration_since(made.0)).ok()?;
    (age < MADE_TOGETHER).then_some(Next::After(MADE_TOGETHER))
}

/// When to look again, if a run that policies woke finds that it was not meant: the run before has seen the same
/// selection already. It happens to runs in flight while a selection arrives.
pub(super) fn superfluous(observed: &Observed, now: Timestamp) -> Option<Next> {
    let status =
        observed.automation.status.as_ref().filter(|status| condition::is_ready(&status.conditions))?;
    let is_same = observed.policies.as_ref().is_ok_and(|selected| *selected == status.observed_policies)
        && Some(status.observed_generation) == observed.automation.metadata.generation;
    let last = status.last_automation_run_time.as_ref().filter(|_| is_same)?;
    let age = Duration::try_from(now.duration_since(last.0)).unwrap_or_default();
    let left = observed.automation.spec.interval.to_std().checked_sub(age)?;
    Some(Next::After(left))
}

fn git_spec(automation: &ImageUpdateAutomation) -> Result<&GitSpec, Failure> {
    let kind = &automation.spec.source_ref.kind;
    if kind != GIT_REPOSITORY {
        return Err(invalid_source(format!("source kind '{kind}' not supported")));
    }
    let git = automation.spec.git.as_ref();
    git.ok_or_else(|| invalid_source(format!("source kind '{kind}' necessitates field .spec.git")))
}

fn repository(observed: &Observed) -> Result<(&GitRepository, &Result<GitAccess, GitAccessError>), Failure> {
    let key = git_source::repository_key(&observed.automation);
    if observed.is_blocked() {
        let message =
            format!("can't access '{GIT_REPOSITORY}/{key}', cross-namespace references have been blocked");
        return Err(Failure::stalled(reason::ACCESS_DENIED, message));
    }
    let missing = || {
        let name = format!("{GIT_REPOSITORY}.source.toolkit.fluxcd.io {:?} not found", key.name);
        failure::source_manager(format!("referenced git repository does not exist: {name}"))
    };
    observed.repository.as_ref().map(|(repository, access)| (&**repository, access)).ok_or_else(missing)
}

fn check_gate(observed: &Observed, repository: &GitRepository) -> Result<(), Failure> {
    let spec = &repository.spec;
    let uses_cloud = !matches!(spec.provider.as_deref(), None | Some("generic" | "github"));
    let has_account = spec.service_account_name.as_deref().is_some_and(|name| !name.is_empty());
    if uses_cloud && has_account && !observed.settings.workload_identity {
        return Err(Failure::workload_identity("spec.serviceAccountName for provider"));
    }
    Ok(())
}

fn invalid_source(cause: impl Display) -> Failure {
    Failure::stalled(reasons::INVALID_SOURCE, format!("{cause}: invalid source configuration"))
}

fn access_failure(error: GitAccessError) -> Failure {
    match error {
        // Flux overlooks an app without its key, and then has no app.
        GitAccessError::Login(GitLoginError::App(AppError::NoKey { .. })) => {
            invalid_source(GitLoginError::NoApp)
        }
        GitAccessError::Login(GitLoginError::App(cause @ AppError::Installation { .. })) => {
            failure::source_manager(cause)
        }
        GitAccessError::Login(GitLoginError::App(cause)) => {
            failure::source_manager(format!("failed to configure authentication options: {cause}"))
        }
        GitAccessError::Login(cause) => invalid_source(cause),
        GitAccessError::Secret(cause) => {
            failure::source_manager(format!("failed to get auth secret '{}': {cause}", cause.place))
        }
        GitAccessError::Proxy(cause) => failure::source_manager(cause),
        GitAccessError::Url { url, reason } => {
            failure::source_manager(format!("failed to parse URL '{url}': {reason}"))
        }
        other => failure::source_manager(other),
    }
}

/// Returns the name of the language in which the message's template is written, if the automation gives one.
pub(crate) fn engine_of(automation: &ImageUpdateAutomation) -> Option<&String> {
    automation.annotations().get(ENGINE)
}

fn engine(automation: &ImageUpdateAutomation) -> Result<Option<Engine>, Failure> {
    let Some(name) = engine_of(automation) else { return Ok(None) };
    name.parse().map(Some).map_err(|error| {
        Failure::stalled(reasons::INVALID_ENGINE, format!("annotation {ENGINE} {error}, not '{name}'"))
    })
}

fn check_strategy(automation: &ImageUpdateAutomation) -> Result<(), Failure> {
    let strategy = automation.spec.update.as_ref().map(|update| update.strategy.as_str());
    match strategy {
        Some("Setters") => Ok(()),
        None => Err(Failure::stalled(reasons::INVALID_STRATEGY, "no update strategy")),
        Some(other) => {
            Err(Failure::stalled(reasons::INVALID_STRATEGY, format!("unsupported update strategy: {other}")))
        }
    }
}

/// The revision to compare the remote with, if equality means that there is nothing to do: the policies select what
/// they selected, the spec is the one that was run, and all that matters is in the one branch (IU-4, IU-6, IU-7). A spec that is
/// Stalled counts as observed and was not run.
fn known_revision(automation: &ImageUpdateAutomation, plan: &GitPlan, selected: &Selected) -> Option<String> {
    let status = automation.status.as_ref()?;
    let is_same = status.observed_policies == *selected
        && Some(status.observed_generation) == automation.metadata.generation
        && !condition::is_true(&status.conditions, condition_type::STALLED)
        && !plan.switches
        && plan.refspec.is_none()
        && plan.can_compare();
    status.observed_source_revision.clone().filter(|_| is_same)
}

/// Returns true when the first question is for the references alone: for names always, for branches and tags where a revision is known
/// that may still be right.
fn looks_first(automation: &ImageUpdateAutomation, plan: &GitPlan, selected: &Selected) -> bool {
    let knows_revision = automation.status.as_ref().is_some_and(|status| {
        status.observed_policies == *selected && status.observed_source_revision.is_some()
    });
    match plan.checkout {
        Reference::Name(_) | Reference::Short(_) => true,
        Reference::Branch(_) | Reference::Tag(_) => {
            knows_revision && !plan.switches && plan.refspec.is_none()
        }
        Reference::Semver(_) | Reference::Commit { .. } => false,
    }
}

/// Leaves out what would break the header of a commit (SEC-9).
fn printable(text: &str) -> String {
    text.chars().filter(|character| !character.is_control() && !matches!(character, '<' | '>')).collect()
}

#[cfg(test)]
mod tests;
