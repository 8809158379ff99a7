//! Amazon Web Services: keys for an identity, and what they are traded for (SRC-CLD-1, SRC-CLD-2).

mod caller;
mod codecommit;
mod ecr;
mod eks;
mod profiles;
mod role;
mod sign;
mod transport;

use std::pin::Pin;
use std::time::SystemTime;

use aws_config::{BehaviorVersion, ConfigLoader, Region};
use aws_sdk_sts::config::{Credentials as Keys, ProvideCredentials};
use aws_sdk_sts::error::{ProvideErrorMetadata, SdkError};
use reqwest::Client;
use secrecy::ExposeSecret;

pub(crate) use self::caller::proof;
pub(crate) use self::codecommit::Repository;
pub(crate) use self::ecr::Registry;
pub use self::ecr::{is_ecr, is_private_ecr};
pub(crate) use self::eks::Eks;
pub(crate) use self::role::assume;
use self::transport::Transport;
use crate::credentials::{Credentials, Login};
use crate::error::{LoginError, ProviderError, words};
use crate::identity::{AWS_ROLE, Account, Identity};
use crate::rest;

const AUDIENCE: &str = "sts.amazonaws.com";
const ROLE_PATTERN: &str = r"^arn:aws[\w-]*:iam::[0-9]{1,30}:role/.{1,200}$";
const STS_PATTERN: &str = r"^https://(.+\.)?sts(-fips)?(\.[^.]+)?(\.vpce)?\.amazonaws\.com$";
/// Digits of an account and characters of a role, as the pattern has them.
const MAX_ACCOUNT: usize = 30;
const MAX_ROLE: usize = 200;
/// Set by EKS in pods that have an identity.
const REGION: &str = "AWS_REGION";
/// Life of keys that do not say, such as those of the environment: they are looked at again.
const DEFAULT_LIFE: u64 = 60 * 60;

/// Keys for an identity, in a region.
#[derive(Clone)]
pub(crate) struct Session {
    client: Client,
    region: String,
    keys: Keys,
}

impl Session {
    /// Keys for the identity. Without a region that is the environment's, or an error.
    pub(crate) async fn open(
        client: &Client,
        identity: &Identity,
        region: Option<&str>,
        sts_endpoint: Option<&str>,
    ) -> Result<Self, ProviderError> {
        let keys = keys(client, identity, region, sts_endpoint).await;
        let (region, keys) = keys.map_err(|error| identity.refused(error))?;
        Ok(Self { client: client.clone(), region, keys })
    }

    /// A configuration for services, with these keys.
    async fn config(&self) -> aws_config::SdkConfig {
        loader(&self.client, &self.region).credentials_provider(self.keys.clone()).load().await
    }

    /// The keys themselves, for buckets.
    pub(crate) fn login(&self) -> Login {
        let credentials = Credentials::Aws {
            access_key_id: self.keys.access_key_id().to_owned(),
            secret_access_key: self.keys.secret_access_key().to_owned().into(),
            session_token: self.keys.session_token().map(|token| token.to_owned().into()),
        };
        Login { credentials, expires: self.keys.expiry().unwrap_or_else(|| rest::in_seconds(DEFAULT_LIFE)) }
    }
}

async fn keys(
    client: &Client,
    identity: &Identity,
    region: Option<&str>,
    sts_endpoint: Option<&str>,
) -> Result<(String, Keys), ProviderError> {
    let given = region.filter(|region| !region.is_empty()).map(str::to_owned);
    let region = match identity {
        Identity::Pod(_) | Identity::Person => {
            given.or_else(|| std::env::var(REGION).ok()).ok_or(ProviderError::NoPodRegion)?
        }
        Identity::Account(account) => {
            role_of(account)?;
            given.ok_or(ProviderError::NoRegion)?
        }
    };
    let mut loader = loader(client, &region);
    if let Some(endpoint) = sts_endpoint {
        loader = loader.endpoint_url(endpoint);
    }
    let keys = match identity {
        Identity::Pod(_) => own(&loader.profile_files(profiles::of_pod().await).load().await).await?,
        Identity::Person => own(&loader.load().await).await?,
        Identity::Account(account) => {
            federated(account, &loader.no_credentials().load().await, &region).await?
        }
    };
    Ok((region, keys))
}

/// A configuration in the making, boxed as [`crate::LoggingIn`] is.
pub type Configuring = Pin<Box<dyn Future<Output = aws_config::SdkConfig> + Send>>;

/// A configuration for the SDK of a service: its requests go through `client` and are signed with the keys of a login.
pub fn sdk_config(client: &Client, region: &str, login: &Credentials) -> Configuring {
    let loader = loader(client, region);
    let loader = match login {
        Credentials::Aws { access_key_id, secret_access_key, session_token } => {
            let token = session_token.as_ref().map(|token| token.expose_secret().to_owned());
            let keys = Keys::new(access_key_id, secret_access_key.expose_secret(), token, None, "weir");
            loader.credentials_provider(keys)
        }
        _ => loader.no_credentials(),
    };
    Box::pin(loader.load())
}

/// Requests go through our own client: it has the object's proxy and authorities.
fn loader(client: &Client, region: &str) -> ConfigLoader {
    aws_config::defaults(BehaviorVersion::latest())
        .region(Region::new(region.to_owned()))
        .http_client(Transport(client.clone()))
}

/// The keys of this process: environment, profile, web identity, container or instance role, in the SDK's order.
async fn own(config: &aws_config::SdkConfig) -> Result<Keys, ProviderError> {
    let what = "failed to get AWS credentials";
    let none = || ProviderError::Library { what, reason: "no provider is configured".to_owned() };
    let provider = config.credentials_provider().ok_or_else(none)?;
    let keys = provider.provide_credentials().await;
    keys.map_err(|error| ProviderError::Library { what, reason: words(&error) })
}

/// The keys of the role that a ServiceAccount's annotation names.
async fn federated(
    account: &Account,
    config: &aws_config::SdkConfig,
    region: &str,
) -> Result<Keys, ProviderError> {
    let arn = role_of(account)?;
    let token = account.token(AUDIENCE).await?;
    let session = format!("{}.{}.{region}.fluxcd.io", account.name, account.namespace);
    let request = aws_sdk_sts::Client::new(config)
        .assume_role_with_web_identity()
        .role_arn(arn)
        .role_session_name(session)
        .web_identity_token(token.expose_secret());
    let answer = request.send().await.map_err(|error| ProviderError::Library {
        what: "failed to assume role with web identity",
        reason: api_words(&error),
    })?;
    let keys = answer.credentials().ok_or(ProviderError::Answer { what: "STS", missing: "key" })?;
    Ok(Keys::new(
        keys.access_key_id(),
        keys.secret_access_key(),
        Some(keys.session_token().to_owned()),
        SystemTime::try_from(*keys.expiration()).ok(),
        "weir",
    ))
}

/// The role that a ServiceAccount's annotation names.
fn role_of(account: &Account) -> Result<&str, ProviderError> {
    let arn = account.annotation(AWS_ROLE);
    if is_role(arn) {
        return Ok(arn);
    }
    Err(ProviderError::Annotation { key: AWS_ROLE, value: arn.to_owned(), pattern: ROLE_PATTERN })
}

/// Returns what an API said of its refusal, or the reason for which there is no answer. Nothing of the answer itself is in it.
pub fn api_words<E, R>(error: &SdkError<E, R>) -> String
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
    R: std::fmt::Debug,
{
    match error.as_service_error().map(|error| (error.code(), error.message())) {
        Some((Some(code), Some(message))) if !message.is_empty() => format!("api error {code}: {message}"),
        Some((Some(code), _)) => format!("api error {code}"),
        _ => words(error),
    }
}

/// Returns true when a text is the ARN of a role.
fn is_role(arn: &str) -> bool {
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    let ["arn", partition, "iam", "", account, role] = parts.as_slice() else { return false };
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_account =
        (1..=MAX_ACCOUNT).contains(&account.len()) && account.bytes().all(|b| b.is_ascii_digit());
    let is_named = |role: &str| !role.is_empty() && role.chars().count() <= MAX_ROLE && !role.contains('\n');
    partition.starts_with("aws")
        && partition.chars().all(is_word)
        && is_account
        && role.strip_prefix("role/").is_some_and(is_named)
}

/// Refuses an STS that is not Amazon's: it would be given the pod's token (SRC-CLD-6).
pub(crate) fn check_sts_endpoint(endpoint: &str) -> Result<(), LoginError> {
    if is_sts(endpoint) {
        return Ok(());
    }
    Err(LoginError::StsEndpoint { endpoint: endpoint.to_owned(), pattern: STS_PATTERN })
}

fn is_sts(endpoint: &str) -> bool {
    let Some(host) = endpoint.strip_prefix("https://") else { return false };
    // Text that is no host name must not hide in the pattern's `.+`.
    if !host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-')) {
        return false;
    }
    let Some(host) = host.strip_suffix(".amazonaws.com") else { return false };
    let mut labels: Vec<&str> = host.split('.').collect();
    if labels.last() == Some(&"vpce") {
        labels.pop();
    }
    let is_service = |label: Option<&&str>| matches!(label, Some(&"sts" | &"sts-fips"));
    let before = labels.len().checked_sub(2).and_then(|at| labels.get(at));
    !labels.contains(&"") && (is_service(labels.last()) || is_service(before))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    #[rstest]
    #[case("arn:aws:iam::123456789012:role/app", true)]
    #[case("arn:aws-us-gov:iam::1:role/path/app", true)]
    #[case("arn:aws:iam::123456789012:user/app", false)]
    #[case("arn:aws:iam:::role/app", false)]
    #[case("arn:aws:iam::123:role/", false)]
    #[case("arn:gcp:iam::123:role/app", false)]
    #[case("", false)]
    fn roles(#[case] arn: &str, #[case] expected: bool) {
        assert_eq!(super::is_role(arn), expected);
    }

    #[rstest]
    #[case("https://sts.amazonaws.com", true)]
    #[case("https://sts.eu-west-1.amazonaws.com", true)]
    #[case("https://sts-fips.us-east-1.amazonaws.com", true)]
    #[case("https://vpce-1-2.sts.us-east-1.vpce.amazonaws.com", true)]
    #[case("http://sts.amazonaws.com", false)]
    #[case("https://sts.amazonaws.com.evil.example", false)]
    #[case("https://evil.example/sts.amazonaws.com", false)]
    #[case("https://evil.example#.sts.amazonaws.com", false)]
    #[case("https://s3.amazonaws.com", false)]
    #[case("https://sts.a.b.amazonaws.com", false)]
    fn endpoints(#[case] endpoint: &str, #[case] expected: bool) {
        assert_eq!(super::is_sts(endpoint), expected);
    }
}
