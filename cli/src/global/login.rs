//! The logins of a kubeconfig's users: by an issuer of tokens, or by a program, when it fails.

use kube::client::AuthError;
use kube::config::{AuthInfo, Kubeconfig};

use crate::error::{Error, chain};

/// A token whose time is over.
const EXPIRED: &str = "e30.eyJleHAiOjB9.";

/// Completes the logins by `auth-provider: oidc` as kubectl understands them: a client may have no secret, and where there is no token
/// yet, the first one is issued for the refresh token. The library wants both.
pub(super) fn complete(file: &mut Kubeconfig) {
    let users = file.auth_infos.iter_mut().filter_map(|user| user.auth_info.as_mut()?.auth_provider.as_mut());
    for login in users.filter(|login| login.name == "oidc") {
        login.config.entry("client-secret".to_owned()).or_default();
        if login.config.contains_key("refresh-token") {
            login.config.entry("id-token".to_owned()).or_insert_with(|| EXPIRED.to_owned());
        }
    }
}

/// Returns the name of the program that a user of a kubeconfig logs in by.
pub(super) fn program(user: &AuthInfo) -> Option<String> {
    user.exec.as_ref()?.command.clone()
}

/// Returns the reason for which there is no client. The library does not say which program it has not found, and shows all that a failed one
/// has printed, which may be a token.
pub(super) fn refused(error: &kube::Error, program: Option<&str>) -> Error {
    let program = program.unwrap_or_default();
    Error::KubeConfig(match error {
        kube::Error::Auth(AuthError::AuthExecStart(cause)) => {
            format!(
                "the user of the kubeconfig logs in by '{program}', which does not start: {cause}; is it installed?"
            )
        }
        kube::Error::Auth(AuthError::AuthExecRun { out, .. }) => {
            format!("the user of the kubeconfig logs in by '{program}', which has failed: {}", out.status)
        }
        error => chain(error),
    })
}
