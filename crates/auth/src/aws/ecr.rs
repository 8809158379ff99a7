//! Amazon's registries: keys for a registry password (SRC-CLD-4, IR-24, IR-25, DEP-OCI-6).

use std::time::{Duration, SystemTime};

use base64::Engine;
use reqwest::Client;
use serde::Deserialize;

use super::sign::Unsigned;
use super::{Session, api_words};
use crate::credentials::Login;
use crate::error::{LoginError, ProviderError};
use crate::rest;

/// The pattern of registries that this login is for, as error messages show it. All of the host must match.
const PATTERN: &str = r"^([0-9]{12})\.dkr[.-]ecr(?:-fips)?\.([a-zA-Z0-9][a-zA-Z0-9_-]{0,99})\.(amazonaws\.(?:com(?:\.cn)?|eu)|on\.(?:aws|amazonwebservices\.com\.cn)|sc2s\.sgov\.gov|c2s\.ic\.gov|cloud\.adc-e\.uk|csp\.hci\.ic\.gov)$";
/// Digits of an account.
const ACCOUNT: usize = 12;
/// Longest region.
const MAX_REGION: usize = 100;
/// Ends of the hosts of registries.
const SUFFIXES: [&str; 9] = [
    "amazonaws.com",
    "amazonaws.com.cn",
    "amazonaws.eu",
    "sc2s.sgov.gov",
    "c2s.ic.gov",
    "cloud.adc-e.uk",
    "csp.hci.ic.gov",
    "on.aws",
    "on.amazonwebservices.com.cn",
];
/// Hosts of the public registry, for IPv4 alone and for both.
const PUBLIC_HOSTS: [&str; 2] = ["public.ecr.aws", "ecr-public.aws.com"];
/// The one region that gives passwords of the public registry.
const PUBLIC_REGION: &str = "us-east-1";
const PUBLIC_API: &str = "https://api.ecr-public.us-east-1.amazonaws.com/";
/// Overrides the SDK's endpoints; this service has no SDK.
const ENDPOINT: &str = "AWS_ENDPOINT_URL";
/// Life of a password when AWS does not say.
const DEFAULT_LIFE: u64 = 12 * 60 * 60;

/// A registry of Amazon's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Registry {
    /// Of an account, in a region.
    Private { region: String },
    /// Everyone's.
    Public,
}

/// Returns true when `host` is a private registry of Amazon's.
#[must_use]
pub fn is_private_ecr(host: &str) -> bool {
    matches!(Registry::parse(host), Some(Registry::Private { .. }))
}

/// Returns true when `host` is a registry of Amazon's, private or public.
#[must_use]
pub fn is_ecr(host: &str) -> bool {
    Registry::parse(host).is_some()
}

impl Registry {
    /// The registry at a host, if it is one.
    pub(crate) fn at(host: &str) -> Result<Self, LoginError> {
        Self::parse(host).ok_or_else(|| LoginError::Registry {
            provider: "AWS",
            host: host.to_owned(),
            pattern: PATTERN,
        })
    }

    fn parse(host: &str) -> Option<Self> {
        if PUBLIC_HOSTS.contains(&host) {
            return Some(Self::Public);
        }
        let (account, rest) = host.split_once('.')?;
        if account.len() != ACCOUNT || !account.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let rest = rest.strip_prefix("dkr.ecr").or_else(|| rest.strip_prefix("dkr-ecr"))?;
        let rest = rest.strip_prefix("-fips").unwrap_or(rest).strip_prefix('.')?;
        let (region, suffix) = rest.split_once('.')?;
        let is_region = region.len() <= MAX_REGION
            && region.starts_with(|first: char| first.is_ascii_alphanumeric())
            && region.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        (is_region && SUFFIXES.contains(&suffix)).then(|| Self::Private { region: region.to_owned() })
    }

    /// The region whose STS and API are asked.
    pub(crate) fn region(&self) -> &str {
        match self {
            Self::Private { region } => region,
            Self::Public => PUBLIC_REGION,
        }
    }

    /// Returns the part of its passwords' key that names their reach: all registries of an account that the keys may
    /// read in the region.
    pub(crate) fn key(&self) -> String {
        match self {
            Self::Private { region } => format!("registry/private/{region}"),
            Self::Public => "registry/public".to_owned(),
        }
    }

    /// User and password of the registry.
    pub(crate) async fn login(&self, session: &Session) -> Result<Login, ProviderError> {
        let made = match self {
            Self::Private { .. } => private(session).await,
            Self::Public => public(session).await,
        };
        made.map_err(|error| ProviderError::Registry(Box::new(error)))
    }
}

async fn private(session: &Session) -> Result<Login, ProviderError> {
    let answer = aws_sdk_ecr::Client::new(&session.config().await).get_authorization_token().send().await;
    let answer = answer.map_err(|error| ProviderError::Library {
        what: "failed to get an ECR authorization token",
        reason: api_words(&error),
    })?;
    let data = answer.authorization_data().first().ok_or_else(unusable)?;
    let expires = data.expires_at().and_then(|time| SystemTime::try_from(*time).ok());
    decoded(data.authorization_token().ok_or_else(unusable)?, expires)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PublicAnswer {
    authorization_data: PublicData,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PublicData {
    authorization_token: String,
    /// Seconds since 1970.
    expires_at: Option<f64>,
}

/// One signed request; not worth an SDK of its own.
async fn public(session: &Session) -> Result<Login, ProviderError> {
    let url = std::env::var(ENDPOINT).unwrap_or_else(|_| PUBLIC_API.to_owned());
    let body = b"{}";
    let headers = [
        ("content-type", "application/x-amz-json-1.1"),
        ("x-amz-target", "SpencerFrontendService.GetAuthorizationToken"),
    ];
    let mut request = Client::post(&session.client, &url).body(body.to_vec());
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let unsigned = Unsigned {
        service: "ecr-public",
        region: PUBLIC_REGION,
        method: "POST",
        url: &url,
        headers: &headers,
        body,
    };
    for (name, value) in unsigned.headers(session)? {
        request = request.header(name, value);
    }
    let answer: PublicAnswer = rest::json("public ECR", request).await?;
    let expires = answer
        .authorization_data
        .expires_at
        .and_then(|seconds| SystemTime::UNIX_EPOCH.checked_add(Duration::try_from_secs_f64(seconds).ok()?));
    decoded(&answer.authorization_data.authorization_token, expires)
}

/// User and password of an authorization token; exactly two parts.
fn decoded(token: &str, expires: Option<SystemTime>) -> Result<Login, ProviderError> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(token).map_err(|_| unusable())?;
    let text = String::from_utf8(bytes).map_err(|_| unusable())?;
    let (user, password) =
        text.split_once(':').filter(|(_, password)| !password.contains(':')).ok_or_else(unusable)?;
    let expires = expires.unwrap_or_else(|| rest::in_seconds(DEFAULT_LIFE));
    Ok(Login::basic(user, password.to_owned().into(), expires))
}

fn unusable() -> ProviderError {
    ProviderError::Answer { what: "ECR", missing: "authorization token" }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("123456789012.dkr.ecr.eu-west-1.amazonaws.com", Some("eu-west-1"))]
    #[case("123456789012.dkr.ecr-fips.us-gov-west-1.amazonaws.com", Some("us-gov-west-1"))]
    #[case("123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn", Some("cn-north-1"))]
    #[case("123456789012.dkr.ecr.us-isob-east-1.sc2s.sgov.gov", Some("us-isob-east-1"))]
    #[case("123456789012.dkr-ecr.us-east-2.on.aws", Some("us-east-2"))]
    #[case("public.ecr.aws", Some("us-east-1"))]
    #[case("public.ecr.aws.evil.io", None)]
    #[case("123456789012.dkr.ecr.eu-west-1.amazonaws.com.evil.io", None)]
    #[case("evil.io/123456789012.dkr.ecr.eu-west-1.amazonaws.com", None)]
    #[case("123456789012.dkr.ecr.eu-west-1@evil.amazonaws.com", None)]
    #[case("dkr.ecr.eu-west-1.amazonaws.com", None)]
    #[case(".dkr.ecr.eu-west-1.amazonaws.com", None)]
    #[case("123456789012.dkr.ecr.eusc-de-east-1.amazonaws.eu", Some("eusc-de-east-1"))]
    #[case("123456789012.dkr.ecr.eu-west-1.on.aws", Some("eu-west-1"))]
    #[case("123456789012.dkr-ecr.cn-north-1.on.amazonwebservices.com.cn", Some("cn-north-1"))]
    #[case("ecr-public.aws.com", Some("us-east-1"))]
    #[case("12345678901.dkr.ecr.eu-west-1.amazonaws.com", None)]
    #[case("123456789012.dkr.ecr.-eu.amazonaws.com", None)]
    #[case("ghcr.io", None)]
    fn registries(#[case] host: &str, #[case] region: Option<&str>) {
        assert_eq!(Registry::parse(host).as_ref().map(Registry::region), region);
    }

    #[rstest]
    #[case("QVdTOnB3", true)] // AWS:pw
    #[case("QVdT", false)] // AWS
    #[case("QTpCOkM=", false)] // A:B:C
    #[case("no base64", false)]
    fn tokens(#[case] token: &str, #[case] expected: bool) {
        assert_eq!(decoded(token, None).is_ok(), expected);
    }
}
