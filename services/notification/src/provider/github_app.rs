//! The GitHub App in a Secret, with Flux's words for what is missing (NTF-76).

use url::Url;
use weir_access::Secret;
use weir_auth::{App, AppError};

use super::github::is_api;

pub(super) const OWNER: &str = "githubAppInstallationOwner";
pub(super) const INSTALLATION: &str = "githubAppInstallationID";
pub(super) const KEY: &str = "githubAppPrivateKey";
const BASE: &str = "githubAppBaseURL";
/// Path of the API of a GitHub Enterprise server.
const API: &str = "/api/v3";

/// Errors in a Secret that should describe an app.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum AppFault {
    /// The id is empty.
    #[error("app ID must be provided to use github app authentication")]
    Id,
    /// No installation is named.
    #[error("app installation owner or ID must be provided to use github app authentication")]
    NoInstallation,
    /// Two installations are named.
    #[error("only one of app installation owner or ID must be provided to use github app authentication")]
    TwoInstallations,
    /// The private key is missing.
    #[error("private key must be provided to use github app authentication")]
    Key,
    /// A value has another form.
    #[error(transparent)]
    Value(AppError),
}

/// Reads the app.
///
/// # Errors
/// When something is missing or has another form.
pub(super) fn read(secret: &Secret) -> Result<App, AppFault> {
    let has = |key: &str| secret.data.get(key).is_some_and(|value| !value.trim_ascii().is_empty());
    match (has("githubAppID"), has(OWNER), has(INSTALLATION), has(KEY)) {
        (false, ..) => return Err(AppFault::Id),
        (_, false, false, _) => return Err(AppFault::NoInstallation),
        (_, true, true, _) => return Err(AppFault::TwoInstallations),
        (.., false) => return Err(AppFault::Key),
        _ => {}
    }
    let mut data = secret.data.clone();
    data.retain(|key, _| has(key));
    if let Some(base) = data.get_mut(BASE) {
        *base = with_api(&String::from_utf8_lossy(base)).into_bytes();
    }
    App::from_secret(&secret.place, &data).map_err(AppFault::Value)
}

/// Returns the address of the API. A server has it below `/api/v3`, which the Secret may leave out.
fn with_api(base: &str) -> String {
    let base = base.trim().trim_end_matches('/');
    let url = Url::parse(base).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    if base.ends_with(API) || is_api(host) {
        return base.to_owned();
    }
    format!("{base}{API}")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("https://ghes.example", "https://ghes.example/api/v3")]
    #[case(" https://ghes.example/\n", "https://ghes.example/api/v3")]
    #[case("https://ghes.example/api/v3/", "https://ghes.example/api/v3")]
    #[case("https://api.github.com", "https://api.github.com")]
    #[case("https://a.api.ghe.com/", "https://a.api.ghe.com")]
    fn addresses_of_the_api(#[case] base: &str, #[case] expected: &str) {
        assert_eq!(with_api(base), expected);
    }

    #[rstest]
    #[case(&["githubAppID="], "app ID must be provided to use github app authentication")]
    #[case(&["githubAppID=1"], "app installation owner or ID must be provided to use github app authentication")]
    #[case(
        &["githubAppID=1", "githubAppInstallationOwner=o", "githubAppInstallationID=2"],
        "only one of app installation owner or ID must be provided to use github app authentication"
    )]
    #[case(
        &["githubAppID=1", "githubAppInstallationID=2"],
        "private key must be provided to use github app authentication"
    )]
    #[case(
        &["githubAppID=x", "githubAppInstallationID=2", "githubAppPrivateKey=k"],
        "secret 'ns/s': key 'githubAppID' is no number"
    )]
    fn refused(#[case] entries: &[&str], #[case] expected: &str) {
        let entries = entries.iter().map(|entry| entry.split_once('=').unwrap());
        let data = entries.map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec())).collect();
        let secret = Secret { place: "ns/s".to_owned(), data, ..Secret::default() };
        assert_eq!(read(&secret).unwrap_err().to_string(), expected);
    }
}
