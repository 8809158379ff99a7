//! Repositories of AWS CodeCommit. HTTPS logs in as whoever runs the command, SSH with the key of an IAM user.

use std::time::Duration;

use secrecy::SecretString;
use url::Url;
use weir_auth::{Caller, Credentials, GitLogin, Logins, Provider};
use weir_http::Profile;

use crate::error::Error;

/// Provider of the source, with which the services log in as themselves.
pub(super) const PROVIDER: &str = "aws";
/// User of most other SSH servers. CodeCommit has no such user.
const USER: &str = "git";

/// Returns true for a repository of CodeCommit.
pub(super) fn is_home_of(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    host.contains("git-codecommit") && host.contains("amazonaws.com")
}

/// Refuses logins over SSH that cannot work: the user is the id of a key, and the key has to be at hand.
pub(super) fn check_key(url: &Url, has_key: bool) -> Result<(), Error> {
    let reason = match url.username() {
        "" => "invalid AWS CodeCommit url: ssh username should be specified in the url",
        USER => {
            "invalid AWS CodeCommit url: ssh username should be the SSH key ID for the provided private key"
        }
        _ if has_key => return Ok(()),
        _ => "private key file is required for bootstrapping against AWS CodeCommit using ssh",
    };
    Err(Error::Flags(reason.to_owned()))
}

/// Refuses a user or a password beside the login of whoever runs the command: one of the two would have no effect.
pub(super) fn check_no_login(has_login: bool) -> Result<(), Error> {
    if has_login {
        return Err(Error::Flags(
            "AWS CodeCommit over HTTPS takes whoever runs this command: add --token-auth to log in with --username and --password \
             (or GIT_PASSWORD), or leave them out"
                .to_owned(),
        ));
    }
    Ok(())
}

/// Returns user and password of a quarter of an hour, made of the keys of this person, job or machine.
pub(super) async fn log_in(url: &Url, timeout: Duration) -> Result<(String, SecretString), Error> {
    let failed = |reason: String| {
        Error::Bootstrap(format!("failed to get AWS CodeCommit IAM git credentials: {reason}"))
    };
    let http = &Profile::default();
    let caller = Caller { kind: "", namespace: "", name: "", account: None, http, timeout };
    let login = Logins::of_process().git(&GitLogin::Cloud(Provider::Aws), &caller, url).await;
    let login = login.map_err(|error| failed(error.to_string()))?;
    match login.as_deref().map(|login| &login.credentials) {
        Some(Credentials::Basic { username, password }) => Ok((username.clone(), password.clone())),
        _ => Err(failed("they are no user and password".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/fleet", true)]
    #[case("ssh://APKAEXAMPLE@git-codecommit.cn-north-1.amazonaws.com.cn/v1/repos/fleet", true)]
    #[case("https://github.com/org/git-codecommit.amazonaws.com", false)]
    fn repositories_of_amazon_are_known_by_their_host(#[case] url: &str, #[case] expected: bool) {
        assert_eq!(is_home_of(&url.parse().unwrap()), expected);
    }

    #[rstest::rstest]
    #[case("", true, "should be specified in the url")]
    #[case("git@", true, "should be the SSH key ID")]
    #[case("APKAEXAMPLE@", false, "private key file is required")]
    #[case("APKAEXAMPLE@", true, "")]
    fn users_are_ids_of_keys(#[case] user: &str, #[case] has_key: bool, #[case] reason: &str) {
        let url = format!("ssh://{user}git-codecommit.eu-west-1.amazonaws.com/v1/repos/fleet");
        let refused = check_key(&url.parse().unwrap(), has_key).err();
        assert!(refused.map_or(String::new(), |error| error.to_string()).contains(reason));
    }
}
