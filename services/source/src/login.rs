//! Failures of logins to registries, Git servers and buckets of clouds (SRC 13).

use weir_auth::LoginError;

use crate::source::Failure;

/// Reason of an object whose credentials cannot be had or used.
pub(crate) const AUTHENTICATION_FAILED: &str = "AuthenticationFailed";

/// Returns the failure of a login. One that only a person can mend is not tried again.
pub(crate) fn login_failure(error: &LoginError, what: &str) -> Failure {
    match error {
        LoginError::GateDisabled => {
            Failure::fetch(weir_api::reason::FEATURE_GATE_DISABLED, error.to_string()).stalled()
        }
        _ => Failure::fetch(AUTHENTICATION_FAILED, format!("{what}: {error}")),
    }
}
