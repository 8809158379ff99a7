//! Getting in: what a registry asks for, and how it is answered (DEP-OCI-2, DEP-OCI-5).

use std::net::{Ipv4Addr, Ipv6Addr};

use reqwest::{Client, Method, RequestBuilder, Response, header};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::{Host, Url};
use weir_auth::RegistryCredentials;

use crate::error::Error;
use crate::repository::Repository;

/// Bytes of an answer of a token server.
const MAX_TOKEN_BYTES: usize = 1 << 20;
/// Name of this client to token servers.
const CLIENT_ID: &str = "weir";

/// The way in which a registry lets callers in; the same for everyone, so it may be remembered for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Challenge {
    /// It asks for nothing, at least at its door.
    Open,
    /// User and password with each request.
    Basic,
    /// A token from a token server.
    Bearer {
        /// The token server, as the registry names it.
        realm: String,
        /// The token server's name for the registry.
        service: Option<String>,
    },
}

/// The content of the `Authorization` header of a handle's requests.
#[derive(Clone)]
pub(crate) enum Pass {
    Nothing,
    Basic(String, SecretString),
    Bearer(SecretString),
}

/// Returns the secrets that a registry or its token server gets with these credentials and may repeat (SRC-SCK-11).
pub(crate) fn told(credentials: &RegistryCredentials) -> Vec<SecretString> {
    match credentials {
        RegistryCredentials::Anonymous => Vec::new(),
        RegistryCredentials::Basic { username, password } => weir_http::told_by_basic(username, password),
        RegistryCredentials::IdentityToken(token) | RegistryCredentials::Bearer(token) => vec![token.clone()],
    }
}

impl Pass {
    pub(crate) fn apply(&self, request: RequestBuilder) -> RequestBuilder {
        match self {
            Self::Nothing => request,
            Self::Basic(user, password) => request.basic_auth(user, Some(password.expose_secret())),
            Self::Bearer(token) => request.bearer_auth(token.expose_secret()),
        }
    }
}

impl Challenge {
    /// Reads the answer to a request without credentials.
    pub(crate) fn of(response: &Response) -> Self {
        let headers = response.headers().get_all(header::WWW_AUTHENTICATE).iter();
        let values: Vec<&str> = headers.filter_map(|value| value.to_str().ok()).collect();
        Self::parse(&values)
    }

    /// Reads values of `WWW-Authenticate`; what is not understood asks for nothing.
    #[must_use]
    pub fn parse(values: &[&str]) -> Self {
        let bearer = values.iter().find_map(|value| strip_scheme(value, "bearer"));
        if let Some(parameters) = bearer {
            let parameter = |name| {
                parameters_of(parameters).find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
            };
            if let Some(realm) = parameter("realm") {
                return Self::Bearer { realm, service: parameter("service") };
            }
        }
        match values.iter().any(|value| strip_scheme(value, "basic").is_some()) {
            true => Self::Basic,
            false => Self::Open,
        }
    }
}

/// A login at a registry.
pub(crate) struct Login<'a> {
    pub(crate) client: &'a Client,
    pub(crate) repository: &'a Repository,
    /// The actions in the repository that a token is for, such as `pull`.
    pub(crate) actions: &'a str,
    pub(crate) credentials: &'a RegistryCredentials,
    /// True where passwords may go over plain HTTP.
    pub(crate) may_be_plain: bool,
    /// Secrets that no error may repeat.
    pub(crate) told: &'a [SecretString],
}

impl Login<'_> {
    /// Answers the registry's challenge.
    pub(crate) async fn answer(&self, challenge: &Challenge) -> Result<Pass, Error> {
        match (challenge, self.credentials) {
            (_, RegistryCredentials::Bearer(token)) => Ok(Pass::Bearer(token.clone())),
            // A registry that is open to everybody may have repositories that are not.
            (Challenge::Open | Challenge::Basic, RegistryCredentials::Basic { username, password }) => {
                Ok(Pass::Basic(username.clone(), password.clone()))
            }
            (Challenge::Open | Challenge::Basic, _) => Ok(Pass::Nothing),
            (Challenge::Bearer { realm, service }, _) => {
                let realm = trusted(realm, self.repository, self.may_be_plain)?;
                self.token(realm, service.as_deref()).await.map(Pass::Bearer)
            }
        }
    }

    async fn token(&self, realm: Url, service: Option<&str>) -> Result<SecretString, Error> {
        let (method, request) = self.token_request(&realm, service);
        let (client, request) = request.build_split();
        let request = request.map_err(|error| Error::transport(&method, &realm, &error))?;
        let asked = request.url().clone();
        let response =
            client.execute(request).await.map_err(|error| Error::transport(&method, &asked, &error))?;
        if !response.status().is_success() {
            return Err(Error::refused(&method, &asked, response, self.told).await);
        }
        let no_token = || Error::NoToken { host: self.repository.host().to_owned() };
        let body = weir_http::read_capped(response, MAX_TOKEN_BYTES).await.map_err(|_| no_token())?;
        let Token { token, access_token } = serde_json::from_slice(&body).unwrap_or_default();
        [token, access_token].into_iter().find(|token| !token.is_empty()).map(Into::into).ok_or_else(no_token)
    }

    fn token_request(&self, realm: &Url, service: Option<&str>) -> (Method, RequestBuilder) {
        let scope = format!("repository:{}:{}", self.repository.path(), self.actions);
        if let RegistryCredentials::IdentityToken(refresh) = self.credentials {
            let form = [
                ("grant_type", "refresh_token"),
                ("client_id", CLIENT_ID),
                ("refresh_token", refresh.expose_secret()),
                ("service", service.unwrap_or_default()),
                ("scope", &scope),
            ];
            return (Method::POST, self.client.post(realm.clone()).form(&form));
        }
        let query = [("scope", Some(scope.as_str())), ("service", service)];
        let request = self.client.get(realm.clone()).query(&query);
        let request = match self.credentials {
            RegistryCredentials::Basic { username, password } => {
                request.basic_auth(username, Some(password.expose_secret()))
            }
            _ => request,
        };
        (Method::GET, request)
    }
}

/// The token server, if a password may be sent to it: over TLS, or in plain to the registry's own host where the object
/// allows that. The registry names it, so anything could stand there, also an address that only we can reach.
fn trusted(realm: &str, repository: &Repository, may_be_plain: bool) -> Result<Url, Error> {
    let refuse = || Error::Realm { host: repository.host().to_owned(), realm: weir_http::shown_text(realm) };
    let url = Url::parse(realm).map_err(|_| refuse())?;
    let registry = Url::parse(&format!("http://{}/", repository.host())).map_err(|_| refuse())?;
    let is_own = url.host_str() == registry.host_str();
    let is_public = match url.host() {
        Some(Host::Ipv4(address)) => !is_inner(address),
        Some(Host::Ipv6(address)) => match address.to_ipv4_mapped() {
            Some(address) => !is_inner(address),
            None => !is_inner_v6(address),
        },
        Some(Host::Domain(_)) | None => true,
    };
    let is_good = match url.scheme() {
        "https" => is_own || is_public,
        "http" => may_be_plain && is_own,
        _ => false,
    };
    if is_good { Ok(url) } else { Err(refuse()) }
}

/// Returns true for addresses of this machine and of networks around it.
fn is_inner(address: Ipv4Addr) -> bool {
    let is_multicast_here = matches!(address.octets(), [224, 0, 0, _]);
    address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_unspecified()
        || is_multicast_here
}

fn is_inner_v6(address: Ipv6Addr) -> bool {
    let is_multicast_here = matches!(address.segments(), [0xff02, ..]);
    address.is_loopback()
        || address.is_unique_local()
        || address.is_unicast_link_local()
        || address.is_unspecified()
        || is_multicast_here
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Token {
    token: String,
    access_token: String,
}

fn strip_scheme<'a>(value: &'a str, scheme: &str) -> Option<&'a str> {
    let (found, rest) = value.split_once(' ').unwrap_or((value, ""));
    found.eq_ignore_ascii_case(scheme).then_some(rest)
}

/// `key="value"` pairs; commas inside quotes belong to the value.
fn parameters_of(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (key, value) = rest.split_once('=')?;
        let value = value.trim_start();
        let (value, tail) = match value.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => value.split_once(',').unwrap_or((value, "")),
        };
        rest = tail.trim_start_matches([',', ' ']);
        Some((key.trim(), value.trim()))
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(&[], Challenge::Open)]
    #[case(&["Basic realm=\"x\""], Challenge::Basic)]
    #[case(&["Bearer realm=\"https://a/token?x=1,2\",service=\"r\",scope=\"a:b\""],
        Challenge::Bearer { realm: "https://a/token?x=1,2".into(), service: Some("r".into()) })]
    #[case(&["Basic realm=x", "bearer realm=\"https://a\""], Challenge::Bearer { realm: "https://a".into(), service: None })]
    #[case(&["Bearer error=\"x\""], Challenge::Open)]
    fn challenges(#[case] values: &[&str], #[case] expected: Challenge) {
        assert_eq!(Challenge::parse(values), expected);
    }

    #[rstest]
    #[case("https://auth.example.com/token", false, true)]
    #[case("http://auth.example.com/token", true, false)]
    #[case("http://r.example.com:5001/token", true, true)]
    #[case("http://r.example.com:5001/token", false, false)]
    #[case("file:///etc/passwd", true, false)]
    #[case("https://169.254.169.254/token", true, false)]
    #[case("https://10.0.0.1/token", false, false)]
    #[case("https://127.0.0.1/token", false, false)]
    #[case("https://[::1]/token", false, false)]
    #[case("https://[::ffff:10.0.0.1]/token", false, false)]
    #[case("https://[fd00:ec2::254]/token", false, false)]
    #[case("https://0x7f000001/token", false, false)]
    #[case("https://8.8.8.8/token", false, true)]
    #[case("https://[2001:4860:4860::8888]/token", false, true)]
    fn realms(#[case] realm: &str, #[case] may_be_plain: bool, #[case] expected: bool) {
        let repository = Repository::parse("r.example.com:5000/app").unwrap();
        assert_eq!(trusted(realm, &repository, may_be_plain).is_ok(), expected);
    }

    #[test]
    fn a_registry_in_a_private_network_has_its_own_token_server() {
        let repository = Repository::parse("10.0.0.1:5000/app").unwrap();
        let answers = ["https://10.0.0.1:5000/token", "https://10.0.0.2:5000/token"];
        let answers = answers.map(|realm| trusted(realm, &repository, false).is_ok());
        assert_eq!(answers, [true, false]);
    }
}
