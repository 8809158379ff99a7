//! Logins to other clusters (KS-IMP-7 to KS-IMP-9): those of the clouds, whose names say where they are, and those that trust
//! this cluster's tokens.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Client;
use url::Url;

use crate::aws::{Eks, Session};
use crate::azure::Aks;
use crate::cache::fingerprint;
use crate::credentials::{Credentials, Login};
use crate::error::{LoginError, ProviderError};
use crate::gcp::Gke;
use crate::identity::Identity;
use crate::provider::Provider;
use crate::{gcp, kubernetes};

/// Port of API servers whose address has none.
const PORT: u16 = 443;

/// A cluster as the ConfigMap of a `kubeConfig` describes it.
#[derive(Debug, Clone, Default)]
pub struct ClusterSpec {
    /// Its cloud; none where the cluster trusts this cluster's tokens.
    pub provider: Option<Provider>,
    /// Its name in the cloud.
    pub name: String,
    /// Its address; empty when the cloud is asked.
    pub address: String,
    /// The authority of its certificate in PEM; empty when the cloud is asked.
    pub ca: String,
    /// Audiences of tokens; without any, the address.
    pub audiences: Vec<String>,
}

/// A cluster whose description makes sense.
pub(crate) struct Cluster<'a> {
    spec: &'a ClusterSpec,
    kind: Kind,
}

enum Kind {
    Generic,
    Eks(Eks),
    /// Nothing when the cloud need not be asked.
    Aks(Option<Aks>),
    Gke(Option<Gke>),
}

/// Address of a cluster, and the authority to trust there.
#[derive(Default)]
pub(crate) struct Place {
    pub(crate) address: String,
    /// In PEM.
    pub(crate) ca: String,
}

impl<'a> Cluster<'a> {
    /// Checks the description. Nothing is requested yet.
    pub(crate) fn new(spec: &'a ClusterSpec) -> Result<Self, LoginError> {
        let kind = match spec.provider {
            None if spec.address.is_empty() => {
                let text = "cluster address is required to create a REST config";
                return Err(LoginError::ClusterAddress(text.to_owned()));
            }
            None => Kind::Generic,
            Some(Provider::Aws) => Kind::Eks(Eks::named(&spec.name)?),
            Some(Provider::Azure) if spec.is_known() => Kind::Aks(None),
            Some(Provider::Azure) => Kind::Aks(Some(Aks::named(&spec.name)?)),
            Some(Provider::Gcp) if spec.is_known() => Kind::Gke(None),
            Some(Provider::Gcp) => Kind::Gke(Some(Gke::named(&spec.name)?)),
        };
        if !spec.address.is_empty() {
            spec.url()?;
        }
        Ok(Self { spec, kind })
    }

    /// Returns the part of its logins' key that names everything that they depend on.
    pub(crate) fn key(&self) -> String {
        let ClusterSpec { provider, name, address, ca, audiences } = self.spec;
        let provider = provider.map_or("generic", Provider::name);
        let parts = [provider, name, address, ca].into_iter().chain(audiences.iter().map(String::as_str));
        format!("cluster/{}", fingerprint(parts.map(str::as_bytes)))
    }

    /// A token, with the place where it is good.
    pub(crate) async fn login(&self, client: &Client, identity: &Identity) -> Result<Login, ProviderError> {
        let spec = self.spec;
        let for_token = |error: ProviderError| ProviderError::ClusterToken(Box::new(error));
        let (login, place) = match &self.kind {
            Kind::Generic => {
                let own = [spec.address.clone()];
                let audiences = if spec.audiences.is_empty() { own.as_slice() } else { &spec.audiences };
                (kubernetes::login(identity, audiences).await.map_err(for_token)?, Place::default())
            }
            Kind::Eks(eks) => {
                let session = Session::open(client, identity, Some(eks.region()), None).await;
                let session = session.map_err(for_token)?;
                let place = if spec.is_known() { Place::default() } else { eks.describe(&session).await? };
                (eks.token(&session)?, place)
            }
            Kind::Aks(aks) => {
                let login = Aks::token(client, identity).await.map_err(for_token)?;
                let place = match aks {
                    Some(aks) => aks.describe(client, identity, &spec.address).await?,
                    None => Place::default(),
                };
                (login, place)
            }
            Kind::Gke(gke) => {
                let login = gcp::login(client, identity).await.map_err(for_token)?;
                let place = match gke {
                    Some(gke) => gke.describe(client, &login).await?,
                    None => Place::default(),
                };
                (login, place)
            }
        };
        let Credentials::Bearer(token) = login.credentials else {
            return Err(ProviderError::Answer { what: "provider", missing: "token" });
        };
        let found = ClusterSpec {
            address: or(&spec.address, place.address),
            ca: or(&spec.ca, place.ca),
            ..spec.clone()
        };
        let address = found.url().map_err(|error| ProviderError::Unusable {
            what: "address of the cluster",
            reason: error.to_string(),
        })?;
        let credentials = Credentials::Cluster { address, ca: found.ca, token };
        Ok(Login { credentials, expires: login.expires })
    }
}

impl ClusterSpec {
    /// Returns true when the cloud need not be asked for anything but a token.
    fn is_known(&self) -> bool {
        !self.address.is_empty() && !self.ca.is_empty()
    }

    /// The address as a URL. Tokens are sent there, so that it must be encrypted. The address of a cloud may have a path.
    fn url(&self) -> Result<Url, LoginError> {
        let address = self.address.as_str();
        let refuse = |reason: String| {
            LoginError::ClusterAddress(match self.provider {
                None => format!("failed to parse cluster address {address}: {reason}"),
                Some(_) => reason,
            })
        };
        let text = if address.contains("://") { address.to_owned() } else { format!("https://{address}") };
        let mut url = Url::parse(&text).map_err(|error| {
            refuse(format!("failed to parse Kubernetes API server address '{address}': {error}"))
        })?;
        if url.scheme() != "https" {
            return Err(refuse(format!(
                "the Kubernetes API server address '{address}' must use https scheme"
            )));
        }
        if self.provider.is_none() {
            url.set_path("");
        }
        url.set_query(None);
        url.set_fragment(None);
        Ok(weir_http::without_user_info(&url))
    }
}

/// Returns true when two addresses lead to the same server.
pub(crate) fn is_same_server(one: &str, other: &str) -> bool {
    let server = |address: &str| {
        let spec = ClusterSpec { address: address.to_owned(), ..ClusterSpec::default() };
        let url = spec.url().ok()?;
        Some((url.host_str()?.to_ascii_lowercase(), url.port().unwrap_or(PORT)))
    };
    server(one).is_some_and(|found| server(other) == Some(found))
}

/// An authority's certificate, as clouds answer with it: PEM in base64.
pub(crate) fn authority(what: &'static str, text: &str) -> Result<String, ProviderError> {
    let bytes = STANDARD.decode(text).ok();
    let pem = bytes.and_then(|bytes| String::from_utf8(bytes).ok()).filter(|pem| !pem.is_empty());
    pem.ok_or(ProviderError::Answer { what, missing: "CA certificate" })
}

fn or(given: &str, found: String) -> String {
    if given.is_empty() { found } else { given.to_owned() }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(None, "K.example", Ok("https://k.example/"))]
    #[case(None, "https://k.example:6443/path?q#f", Ok("https://k.example:6443/"))]
    #[case(Some(Provider::Gcp), "https://gate.example/v1/p", Ok("https://gate.example/v1/p"))]
    #[case(Some(Provider::Gcp), "10.0.0.1", Ok("https://10.0.0.1/"))]
    #[case(
        None,
        "http://k.example",
        Err(
            "failed to parse cluster address http://k.example: the Kubernetes API server address 'http://k.example' must use https scheme"
        )
    )]
    fn addresses(
        #[case] provider: Option<Provider>,
        #[case] address: &str,
        #[case] expected: Result<&str, &str>,
    ) {
        let spec = ClusterSpec { provider, address: address.to_owned(), ..ClusterSpec::default() };
        let found = spec.url().map(String::from).map_err(|error| error.to_string());
        assert_eq!(found.as_deref().map_err(String::as_str), expected);
    }

    #[rstest]
    #[case("https://a.example", "A.example:443", true)]
    #[case("https://a.example:8443", "a.example", false)]
    #[case("https://a.example", "https://b.example", false)]
    #[case("http://a.example", "http://a.example", false)]
    fn servers(#[case] one: &str, #[case] other: &str, #[case] expected: bool) {
        assert_eq!(is_same_server(one, other), expected);
    }

    /// KS-IMP-8: what a provider needs is checked before anything is requested.
    #[rstest]
    #[case(None, "", "", "cluster address is required to create a REST config")]
    #[case(Some(Provider::Aws), "app", "", "invalid EKS cluster ARN: 'app'. must match ^arn:aws")]
    #[case(
        Some(Provider::Azure),
        "app",
        "",
        "invalid AKS cluster ID: 'app'. must match (?i)^/subscriptions/"
    )]
    #[case(Some(Provider::Gcp), "app", "", "invalid GKE cluster ID: 'app'. must match ^projects/")]
    #[case(Some(Provider::Gcp), "app", "http://a", "must use https scheme")]
    fn refused(
        #[case] provider: Option<Provider>,
        #[case] name: &str,
        #[case] address: &str,
        #[case] part: &str,
    ) {
        let ca = if address.is_empty() { String::new() } else { "pem".to_owned() };
        let spec = ClusterSpec {
            provider,
            name: name.to_owned(),
            address: address.to_owned(),
            ca,
            audiences: Vec::new(),
        };
        let error = Cluster::new(&spec).err().unwrap().to_string();
        assert!(error.contains(part), "{error}");
    }
}
