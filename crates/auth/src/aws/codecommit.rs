//! Amazon's Git servers: keys become a password that is valid for a quarter of an hour (SRC-CLD-5, IU-27).

use std::time::{Duration, SystemTime};

use aws_sigv4::sign::v4::{calculate_signature, generate_signing_key};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use sha2::{Digest, Sha256};
use url::Url;

use super::Session;
use crate::credentials::Login;
use crate::error::LoginError;

/// Time for which the servers take a signature.
const LIFE: Duration = Duration::from_secs(15 * 60);
const SUFFIXES: [&str; 2] = ["amazonaws.com", "amazonaws.com.cn"];

/// A repository of CodeCommit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repository {
    host: String,
    path: String,
    region: String,
}

impl Repository {
    /// The repository at `https://git-codecommit[-fips].<region>.amazonaws.com[.cn]/…`.
    pub(crate) fn at(url: &Url) -> Result<Self, LoginError> {
        if url.scheme() != "https" {
            return Err(LoginError::CodeCommitScheme);
        }
        let host = url.host_str().unwrap_or_default();
        let refused = || LoginError::CodeCommit { host: host.to_owned() };
        let rest = host.strip_prefix("git-codecommit").ok_or_else(refused)?;
        let rest = rest.strip_prefix("-fips").unwrap_or(rest).strip_prefix('.').ok_or_else(refused)?;
        let (region, suffix) = rest.split_once('.').ok_or_else(refused)?;
        if region.is_empty() || !SUFFIXES.contains(&suffix) {
            return Err(refused());
        }
        Ok(Self { host: host.to_owned(), path: url.path().to_owned(), region: region.to_owned() })
    }

    /// Returns the part of its passwords' key in the cache that names everything that they depend on.
    pub(crate) fn key(&self) -> String {
        format!("git/{}{}", self.host, self.path)
    }

    pub(crate) fn region(&self) -> &str {
        &self.region
    }

    /// User and password.
    pub(crate) fn login(&self, session: &Session, now: SystemTime) -> Login {
        let keys = &session.keys;
        let user = match keys.session_token() {
            Some(token) => format!("{}%{token}", keys.access_key_id()),
            None => keys.access_key_id().to_owned(),
        };
        let (time, signature) = self.signature(keys.secret_access_key(), now);
        Login::basic(&user, format!("{time}Z{signature}").into(), now + LIFE)
    }

    /// The signature of Git's own method over host and path, and its time.
    fn signature(&self, secret: &str, now: SystemTime) -> (String, String) {
        let moment = Timestamp::try_from(now).unwrap_or_default().to_zoned(TimeZone::UTC);
        let (time, date) = (moment.strftime("%Y%m%dT%H%M%S").to_string(), moment.strftime("%Y%m%d"));
        let canonical = format!("GIT\n{}\n\nhost:{}\n\nhost\n", self.path, self.host);
        let hash = hex::encode(Sha256::digest(canonical));
        let region = &self.region;
        let text = format!("AWS4-HMAC-SHA256\n{time}\n{date}/{region}/codecommit/aws4_request\n{hash}");
        let key = generate_signing_key(secret, now, region, "codecommit");
        (time, calculate_signature(key, text.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn at(url: &str) -> Result<Repository, LoginError> {
        Repository::at(&Url::parse(url).unwrap())
    }

    #[rstest]
    #[case("https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/app", Some("eu-west-1"))]
    #[case("https://git-codecommit-fips.us-east-1.amazonaws.com/v1/repos/app", Some("us-east-1"))]
    #[case("https://git-codecommit.cn-north-1.amazonaws.com.cn/v1/repos/app", Some("cn-north-1"))]
    #[case("http://git-codecommit.eu-west-1.amazonaws.com/v1/repos/app", None)]
    #[case("https://git-codecommit.eu-west-1.amazonaws.com.evil.io/v1/repos/app", None)]
    #[case("https://github.com/a/b", None)]
    fn repositories(#[case] url: &str, #[case] region: Option<&str>) {
        assert_eq!(at(url).ok().map(|repository| repository.region).as_deref(), region);
    }

    #[rstest]
    #[case(
        "ssh://git-codecommit.eu-west-1.amazonaws.com/v1/repos/app",
        "AWS CodeCommit authentication requires an HTTPS Git URL"
    )]
    #[case("https://github.com/a/b", "invalid AWS CodeCommit Git URL: github.com")]
    fn refused(#[case] url: &str, #[case] expected: &str) {
        assert_eq!(at(url).unwrap_err().to_string(), expected);
    }

    /// The value was computed with the steps of the AWS documentation in another program.
    #[test]
    fn signatures() {
        let repository = at("https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/app").unwrap();
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let (time, signature) = repository.signature("secret", now);
        assert_eq!(time, "20231114T221320");
        assert_eq!(signature, "6f555f473fae772b11b40379bd730986293faf0fa208ba1e8312c164b11a4a01");
    }
}
