//! Logins of objects: to registries, Git servers and buckets of clouds (SRC 13).

use super::SecretData;
use crate::source::{Attempt, Failure, Source};
use url::Url;
use weir_api::FluxObject;
use weir_auth::{AppError, Caller, GitLogin, GitLoginError, LoginError, Logins};
use weir_git::Credentials;
use weir_http::Profile;

const AUTHENTICATION_FAILED: &str = "AuthenticationFailed";
const PROVIDER: &str = "InvalidProviderConfiguration";

/// The object as the one who logs in, with `spec.serviceAccountName` and its own way to the provider.
pub(crate) fn caller<'a, S: Source + FluxObject>(
    attempt: &'a Attempt<'_, S>,
    account: Option<&'a str>,
    http: &'a Profile,
) -> Caller<'a> {
    let key = attempt.key();
    Caller {
        kind: S::KIND,
        namespace: &key.namespace,
        name: &key.name,
        account,
        http,
        timeout: attempt.object.timeout(),
    }
}

/// Returns the failure of a login. One that only a person can mend is not tried again.
pub(crate) fn login_failure(error: &LoginError, what: &str) -> Failure {
    match error {
        LoginError::GateDisabled => {
            Failure::fetch(weir_api::reason::FEATURE_GATE_DISABLED, error.to_string()).stalled()
        }
        _ => Failure::fetch(AUTHENTICATION_FAILED, format!("{what}: {error}")),
    }
}

/// The credentials that a provider gives for the Git server at `url`; nothing when they are the Secret's own
/// (SRC-CLD-5). `place` is the Secret's `namespace/name`.
pub(crate) async fn git_credentials(
    logins: &Logins,
    caller: &Caller<'_>,
    provider: Option<&str>,
    url: &Url,
    place: &str,
    secret: Option<&SecretData>,
) -> Result<Option<Credentials>, Failure> {
    let login = GitLogin::of(provider, place, secret).map_err(|error| match error {
        GitLoginError::NoApp if secret.is_none() => Failure::fetch(PROVIDER, error.to_string()).stalled(),
        GitLoginError::NoApp
        | GitLoginError::UnexpectedApp { .. }
        | GitLoginError::App(AppError::NoKey { .. }) => Failure::fetch(PROVIDER, error.to_string()),
        GitLoginError::App(error) => {
            let message = format!("failed to configure authentication options: {error}");
            Failure::fetch(AUTHENTICATION_FAILED, message)
        }
    })?;
    let issued = logins.git(&login, caller, url).await;
    let issued =
        issued.map_err(|error| login_failure(&error, "failed to configure authentication options"))?;
    Ok(issued.map(|login| match &login.credentials {
        weir_auth::Credentials::Basic { username, password } => {
            Credentials::Basic { username: username.clone(), password: password.clone() }
        }
        weir_auth::Credentials::Bearer(token) => Credentials::Bearer(token.clone()),
        weir_auth::Credentials::Aws { .. } => Credentials::None,
    }))
}
