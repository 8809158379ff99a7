//! Finding the way in: https or http, and what the registry asks for. The same for everyone, so it is remembered for a
//! few minutes; credentials and tokens are not.

use std::time::Duration;

use moka::sync::Cache;
use reqwest::{Method, StatusCode};
use url::Url;
use weir_auth::RegistryCredentials;

use super::{Registry, RegistryOptions};
use crate::access::{Challenge, Pass};
use crate::error::Error;
use crate::repository::Repository;

/// Registries whose way in is remembered.
const MAX_ENDPOINTS: u64 = 1024;
/// Life of an entry. A registry that changes its token server is noticed by then.
const ENDPOINT_TTL: Duration = Duration::from_secs(5 * 60);

/// A registry and how it lets callers in.
#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    pub(super) base: Url,
    challenge: Challenge,
}

/// The ways in that are known, by registry and whether plain HTTP is allowed.
#[derive(Clone)]
pub(super) struct Endpoints {
    cache: Cache<(String, bool), Endpoint>,
}

impl Endpoints {
    pub(super) fn new() -> Self {
        Self { cache: Cache::builder().max_capacity(MAX_ENDPOINTS).time_to_live(ENDPOINT_TTL).build() }
    }
}

impl Registry {
    /// The way in, found once per handle.
    pub(super) async fn way(&mut self) -> Result<(Endpoint, Pass), Error> {
        if let Some(way) = &self.way {
            return Ok(way.clone());
        }
        let may_be_plain = may_be_plain(&self.repository, &self.options);
        let key = (self.repository.host().to_owned(), may_be_plain);
        let endpoint = match self.endpoints.cache.get(&key) {
            Some(endpoint) => endpoint,
            None => {
                let found = self.ping(may_be_plain).await?;
                self.endpoints.cache.insert(key, found.clone());
                found
            }
        };
        let (credentials, told) = (&self.options.credentials, self.told());
        let client = match credentials {
            RegistryCredentials::IdentityToken(_) => &self.token_client,
            _ => &self.client,
        };
        let scope = (&self.repository, self.actions);
        let answer = endpoint.challenge.answer(client, scope, credentials, may_be_plain, &told);
        let pass = self.in_time(answer).await??;
        self.way = Some((endpoint.clone(), pass.clone()));
        Ok((endpoint, pass))
    }

    /// Forgets the way in, so that the next request looks for it anew.
    pub(super) fn lose_way(&mut self) {
        self.way = None;
        let may_be_plain = may_be_plain(&self.repository, &self.options);
        self.endpoints.cache.invalidate(&(self.repository.host().to_owned(), may_be_plain));
    }

    async fn ping(&self, may_be_plain: bool) -> Result<Endpoint, Error> {
        let schemes: &[&str] = if may_be_plain { &["https", "http"] } else { &["https"] };
        let mut causes = Vec::new();
        for scheme in schemes {
            match self.ping_at(scheme).await {
                Ok(endpoint) => return Ok(endpoint),
                Err(error @ (Error::Transport { .. } | Error::Malformed { .. })) => causes.push(error),
                Err(error) if causes.is_empty() => return Err(error),
                // The refusal of plain HTTP does not say why HTTPS was of no use.
                Err(error) => causes.push(error),
            }
        }
        Err(Error::Unreachable { causes })
    }

    async fn ping_at(&self, scheme: &str) -> Result<Endpoint, Error> {
        let text = format!("{scheme}://{}/v2/", self.repository.host());
        let malformed = |reason: url::ParseError| Error::Malformed {
            what: "registry",
            url: text.clone(),
            reason: reason.to_string(),
        };
        let base = Url::parse(&text).map_err(malformed)?;
        let response = self.send(self.client.get(base.clone()), &Method::GET, &base).await?;
        match response.status() {
            StatusCode::OK => Ok(Endpoint { base, challenge: Challenge::Open }),
            StatusCode::UNAUTHORIZED => Ok(Endpoint { base, challenge: Challenge::of(&response) }),
            // Some registries have no such page and serve the rest all the same.
            StatusCode::NOT_FOUND => Ok(Endpoint { base, challenge: Challenge::Open }),
            _ => Err(self.in_time(Error::refused(&Method::GET, &base, response, &self.told())).await?),
        }
    }
}

/// Returns true where plain HTTP is tried after HTTPS. No password leaves this machine that way, unless the object allows it.
fn may_be_plain(repository: &Repository, options: &RegistryOptions) -> bool {
    let is_anonymous = matches!(options.credentials, RegistryCredentials::Anonymous);
    let is_home = repository.is_loopback() || is_anonymous && repository.is_private();
    options.insecure || options.plain_at_home && is_home
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// IR-7, SRC-OCI-20.
    #[rstest]
    #[case::public("ghcr.io/org/app", false, false, false)]
    #[case::allowed("ghcr.io/org/app", true, true, true)]
    #[case::this_machine("127.0.0.1:5000/app", false, true, true)]
    #[case::private("registry.svc.cluster.local:5000/app", false, false, true)]
    #[case::private_with_a_password("registry.svc.cluster.local:5000/app", false, true, false)]
    #[case::private_and_allowed("10.0.0.1:5000/app", true, true, true)]
    fn passwords_stay_off_plain_http(
        #[case] name: &str,
        #[case] insecure: bool,
        #[case] has_password: bool,
        #[case] expected: bool,
    ) {
        let credentials = match has_password {
            true => RegistryCredentials::Basic { username: "user".into(), password: "pass".into() },
            false => RegistryCredentials::Anonymous,
        };
        let options = RegistryOptions { insecure, credentials, ..RegistryOptions::default() };
        assert_eq!(may_be_plain(&Repository::parse(name).unwrap(), &options), expected);
        // Charts are not pulled over plain HTTP unless the object says so, wherever they are.
        let options = RegistryOptions { plain_at_home: false, ..options };
        assert_eq!(may_be_plain(&Repository::parse(name).unwrap(), &options), insecure);
    }
}
