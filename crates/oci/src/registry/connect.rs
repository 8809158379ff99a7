//! Finding the way in: https or http, and what the registry asks for. The same for all who go by one proxy and believe the
//! same authorities, so it is remembered for a few minutes; credentials and tokens are not.

use std::time::Duration;

use moka::sync::Cache;
use reqwest::{Method, StatusCode};
use url::Url;
use weir_auth::RegistryCredentials;

use super::{Registry, RegistryOptions};
use crate::access::{Challenge, Login, Pass};
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

/// The name of a way in: the registry, whether plain HTTP is allowed, and the key of the profile by which it was found. An
/// object's own proxy can name any token server in the registry's place; nobody else's password goes there (SRC-SCK-7,
/// SRC-SCK-12).
type Route = (String, bool, [u8; 32]);

/// The ways in that are known.
#[derive(Clone)]
pub(super) struct Endpoints {
    cache: Cache<Route, Endpoint>,
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
        let route = self.route();
        let may_be_plain = route.1;
        let endpoint = match self.endpoints.cache.get(&route) {
            Some(endpoint) => endpoint,
            None => {
                let found = self.ping(may_be_plain).await?;
                self.endpoints.cache.insert(route, found.clone());
                found
            }
        };
        let (credentials, told) = (&self.options.credentials, self.told());
        let client = match credentials {
            RegistryCredentials::IdentityToken(_) => &self.token_client,
            _ => &self.client,
        };
        let (repository, actions) = (&self.repository, self.actions);
        let login = Login { client, repository, actions, credentials, may_be_plain, told: &told };
        let pass = self.in_time(login.answer(&endpoint.challenge)).await??;
        self.way = Some((endpoint.clone(), pass.clone()));
        Ok((endpoint, pass))
    }

    /// Forgets the way in, so that the next request looks for it anew.
    pub(super) fn lose_way(&mut self) {
        self.way = None;
        self.endpoints.cache.invalidate(&self.route());
    }

    fn route(&self) -> Route {
        let may_be_plain = may_be_plain(&self.repository, &self.options);
        (self.repository.host().to_owned(), may_be_plain, self.options.http.key())
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
    use axum::http::{HeaderMap, header};
    use rstest::rstest;
    use weir_http::{Profile, Proxy};
    use weir_testkit::{SinkAnswer, SinkRequest, WebhookSink};

    use super::*;
    use crate::Registries;

    async fn asking_for(challenge: String) -> WebhookSink {
        let sink = WebhookSink::start().await.unwrap();
        sink.answer_with(move |request| {
            if request.path != "/v2/" {
                return SinkAnswer { body: "{\"token\":\"t\"}".into(), ..SinkAnswer::default() };
            }
            let headers = HeaderMap::from_iter([(header::WWW_AUTHENTICATE, challenge.parse().unwrap())]);
            SinkAnswer { status: StatusCode::UNAUTHORIZED, headers, ..SinkAnswer::default() }
        });
        sink
    }

    /// SRC-SCK-7, SRC-SCK-12: a tenant's proxy answers in the place of the registry, and names a token server of its own.
    #[tokio::test]
    async fn the_way_in_that_a_proxy_shows_is_for_those_behind_it() {
        let thief = WebhookSink::start().await.unwrap();
        let registry = asking_for("Basic realm=\"x\"".into()).await;
        let proxy = asking_for(format!("Bearer realm=\"{}\"", thief.url("/token"))).await;
        thief.answer_with(|_| SinkAnswer { body: "{\"token\":\"t\"}".into(), ..SinkAnswer::default() });

        let address = registry.url("/app").replace("http://", "");
        let repository = Repository::parse(&address).unwrap();
        let registries = Registries::new();
        let credentials = RegistryCredentials::Basic { username: "u".into(), password: "p".into() };
        let by = |proxy: Option<&WebhookSink>| {
            let proxy = proxy.map(|sink| Proxy { address: sink.url("").parse().unwrap(), credentials: None });
            let http = Profile { proxy, ..Profile::default() };
            let options = RegistryOptions {
                insecure: true,
                credentials: credentials.clone(),
                http,
                ..Default::default()
            };
            registries.open(&repository, options).unwrap()
        };
        by(Some(&proxy)).request(Method::GET, "tags/list").await.unwrap();
        let tells = |request: &SinkRequest| request.headers.contains_key(header::AUTHORIZATION);
        let mut told = proxy.requests().into_iter().filter(tells);
        assert!(told.any(|request| request.path == "/token"), "by its own user the tenant is believed");

        by(None).request(Method::GET, "tags/list").await.unwrap();
        assert!(thief.requests().is_empty(), "{:?}", thief.requests());
        assert!(registry.requests().iter().any(tells));
        // Nor can who is behind it make the others look for the way anew.
        by(Some(&proxy)).lose_way();
        registry.forget();
        by(None).request(Method::GET, "tags/list").await.unwrap();
        let paths: Vec<_> = registry.requests().into_iter().map(|request| request.path).collect();
        assert_eq!(paths, ["/v2/app/tags/list"]);
    }

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
