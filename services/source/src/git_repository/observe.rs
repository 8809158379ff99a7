//! Facts that a run needs before it asks the remote: the remote's address and our identity there.

use super::GitReconciler;
use crate::go_url;
use crate::login::{AUTHENTICATION_FAILED, login_failure};
use crate::source::{Attempt, Failure};
use weir_access::{GitAccessError, GitRules};
use weir_api::GitRepository;
use weir_auth::{AppError, GitLoginError};
use weir_git::{Credentials, Remote};

const PROVIDER: &str = "InvalidProviderConfiguration";

const RULES: GitRules =
    GitRules { parse_url: go_url::parse, refuses_half_certificates: false, refuses_missing_keys: true };

impl GitReconciler {
    /// The remote of an object (SRC-GIT 4.9).
    pub(super) async fn observe(&self, attempt: &Attempt<'_, GitRepository>) -> Result<Remote, Failure> {
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
        GitAccessError::Url { url, reason } => {
            let shown = go_url::without_user_info(url);
            let reason = reason.replace(url, &shown);
            Failure::fetch("URLInvalid", format!("failed to parse url '{shown}': {reason}")).stalled()
        }
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
