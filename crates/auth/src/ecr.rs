//! Amazon ECR: the pod's AWS identity for a registry password (SRC-CLD-1, SRC-CLD-4, DEP-OCI-6).

use crate::{Login, RegistryCredentials};
use aws_config::{BehaviorVersion, Region};
use base64::Engine;
use std::time::{Duration, SystemTime};

/// The pattern of registries that this login is for, as error messages show it.
const PATTERN: &str =
    r"([0-9+]*).dkr[.-]ecr(?:-fips)?\.([^/.]*)\.(amazonaws\.com[.cn]*|amazonaws\.eu|on\.aws)";
/// Suffixes of ECR hosts behind the region.
const SUFFIXES: [&str; 5] =
    ["amazonaws.com", "amazonaws.com.cn", "amazonaws.eu", "on.aws", "on.amazonwebservices.com.cn"];
/// Life of a password when AWS does not say.
const DEFAULT_LIFE: Duration = Duration::from_secs(12 * 60 * 60);

/// Why there is no login.
#[derive(Debug, thiserror::Error)]
pub enum EcrError {
    /// The host is no ECR registry.
    #[error("invalid AWS registry: '{host}'. must match {PATTERN}")]
    Host {
        /// The host.
        host: String,
    },
    /// AWS gives no password. Its words are kept, credentials never are in them.
    #[error("failed to get an ECR authorization token: {reason}")]
    Refused {
        /// The words of the SDK, causes included.
        reason: String,
    },
    /// AWS answers without a usable password.
    #[error("ECR answered without a usable authorization token")]
    Unusable,
}

/// Whether `host` is a private ECR registry.
#[must_use]
pub fn matches(host: &str) -> bool {
    region(host).is_some()
}

/// The region that an ECR host names: `<account>.dkr.ecr[-fips].<region>.<suffix>`.
fn region(host: &str) -> Option<&str> {
    let (account, rest) = host.split_once('.')?;
    if account.is_empty() && !rest.is_empty() || !account.bytes().all(|byte| byte.is_ascii_digit()) {
        // Dual-stack hosts write `<account>.dkr-ecr.<region>.on.aws`; anything else has a numeric account too.
        return None;
    }
    let rest = rest.strip_prefix("dkr.ecr").or_else(|| rest.strip_prefix("dkr-ecr"))?;
    let rest = rest.strip_prefix("-fips").unwrap_or(rest).strip_prefix('.')?;
    let (region, suffix) = rest.split_once('.')?;
    (!region.is_empty() && SUFFIXES.contains(&suffix)).then_some(region)
}

/// Logs in to the registry at `host` with the identity of this process: environment, web identity, container or
/// instance role, in the SDK's order. `AWS_ENDPOINT_URL_ECR` points it elsewhere, for tests.
///
/// # Errors
/// When the host is no ECR registry or AWS gives no password.
pub async fn login(host: &str) -> Result<Login, EcrError> {
    let region = region(host).ok_or_else(|| EcrError::Host { host: host.to_owned() })?;
    let config =
        aws_config::defaults(BehaviorVersion::latest()).region(Region::new(region.to_owned())).load().await;
    login_with(&config).await
}

/// As [`login`], with a configuration of the caller's.
///
/// # Errors
/// When AWS gives no password.
pub async fn login_with(config: &aws_config::SdkConfig) -> Result<Login, EcrError> {
    let answer = aws_sdk_ecr::Client::new(config).get_authorization_token().send().await;
    let answer = answer.map_err(|error| EcrError::Refused { reason: words(&error) })?;
    let data = answer.authorization_data().first().ok_or(EcrError::Unusable)?;
    let token = data.authorization_token().ok_or(EcrError::Unusable)?;
    let decoded = base64::engine::general_purpose::STANDARD.decode(token).map_err(|_| EcrError::Unusable)?;
    let text = String::from_utf8(decoded).map_err(|_| EcrError::Unusable)?;
    let (username, password) = text.split_once(':').ok_or(EcrError::Unusable)?;
    let expires = data.expires_at().and_then(|time| SystemTime::try_from(*time).ok());
    Ok(Login {
        credentials: RegistryCredentials::Basic {
            username: username.to_owned(),
            password: password.to_owned().into(),
        },
        expires: expires.unwrap_or_else(|| SystemTime::now() + DEFAULT_LIFE),
    })
}

/// An error with its causes; the SDK's own text is only the kind of error.
fn words(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    #[rstest]
    #[case("123456789012.dkr.ecr.eu-west-1.amazonaws.com", Some("eu-west-1"))]
    #[case("123456789012.dkr.ecr-fips.us-gov-west-1.amazonaws.com", Some("us-gov-west-1"))]
    #[case("123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn", Some("cn-north-1"))]
    #[case("123456789012.dkr-ecr.us-east-2.on.aws", Some("us-east-2"))]
    #[case("123456789012.dkr.ecr.eu-west-1.amazonaws.com.evil.io", None)]
    #[case("dkr.ecr.eu-west-1.amazonaws.com", None)]
    #[case("ghcr.io", None)]
    fn regions(#[case] host: &str, #[case] region: Option<&str>) {
        assert_eq!(super::region(host), region);
    }
}
