//! The facts by which a run decides, gathered before it asks the remote.

use weir_access::{GitAccessError, GitRules};
use weir_api::GitRepository;
use weir_auth::{AppError, GitLoginError};
use weir_git::{Credentials, Remote};

use super::GitReconciler;
use super::include::Include;
use super::verify::Trust;
use crate::login::{AUTHENTICATION_FAILED, login_failure};
use crate::source::{Attempt, Failure};

const PROVIDER: &str = "InvalidProviderConfiguration";

pub(super) const RULES: GitRules = GitRules { refuses_locked_keys: true };

/// Everything that a run is decided by, beside the object and its artifact.
pub(super) struct Observed {
    /// Address of the remote, and our identity there.
    pub(super) remote: Remote,
    /// Artifacts that are put into this one.
    pub(super) includes: Vec<Include>,
    /// Trusted keys; none when signatures do not matter. An error is reported only if the fetch succeeded, as Flux does.
    pub(super) trust: Result<Option<Trust>, Failure>,
    /// True when the artifact that is there was verified with what would be asked of it now.
    pub(super) is_verified: bool,
}

impl GitReconciler {
    /// Reads what the object refers to.
    pub(super) async fn observe(&self, attempt: &Attempt<'_, GitRepository>) -> Result<Observed, Failure> {
        let remote = self.remote(attempt).await?;
        let includes = self.includes(attempt)?;
        let trust = self.trust(attempt).await;
        let asked = trust.as_ref().ok().and_then(Option::as_ref);
        let known = attempt.known.as_ref();
        let is_verified = known.is_some_and(|known| self.is_verified(attempt, asked, &known.revision));
        Ok(Observed { remote, includes, trust, is_verified })
    }

    /// The remote of an object (SRC-GIT 4.9).
    async fn remote(&self, attempt: &Attempt<'_, GitRepository>) -> Result<Remote, Failure> {
        let (object, key) = (&attempt.object, attempt.key());
        let access = self.secrets.git_access(object, &RULES, &attempt.run.cancel).await;
        let mut access = access.map_err(|error| failure(&error, object.spec.secret_ref.is_some()))?;
        let account = object.spec.service_account_name.as_deref();
        let login = access.log_in::<GitRepository>(&self.logins, key, account).await;
        login.map_err(|error| login_failure(&error, "failed to configure authentication options"))?;
        let mut remote = access.remote;
        if remote.url.scheme() == "http" && !matches!(remote.credentials, Credentials::None) {
            tracing::warn!(object = %key, "credentials are sent over plain HTTP");
        }
        remote.store = self.store_of(object);
        Ok(remote)
    }
}

/// Returns the failure of a repository that is not to be reached as it is configured.
fn failure(error: &GitAccessError, has_secret: bool) -> Failure {
    let failed = |message: String| Failure::fetch(AUTHENTICATION_FAILED, message);
    match error {
        GitAccessError::Url { .. } => Failure::fetch("URLInvalid", error.to_string()).stalled(),
        // Both halves say the same; Flux's users know the message so.
        GitAccessError::Secret(cause) => failed(format!("failed to get secret '{}': {error}", cause.place)),
        GitAccessError::Login(GitLoginError::App(cause)) if !matches!(cause, AppError::NoKey { .. }) => {
            failed(format!("failed to configure authentication options: {cause}"))
        }
        GitAccessError::Login(GitLoginError::NoApp) if !has_secret => {
            Failure::fetch(PROVIDER, error.to_string()).stalled()
        }
        GitAccessError::Login(cause) => Failure::fetch(PROVIDER, cause.to_string()),
        _ => failed(error.to_string()),
    }
}
