//! The logins of a kubeconfig's users by a program, when it fails.

use kube::client::AuthError;
use kube::config::AuthInfo;

use crate::error::{Error, chain};

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
