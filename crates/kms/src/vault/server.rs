//! A Vault, and the way to it that the environment describes in the variables of Vault's own client (KS-DEC-13, KS-DEC-14).

use std::path::{Path, PathBuf};

use reqwest::{Client, RequestBuilder};
use url::Url;
use weir_http::{ClientCertificate, Clients, Profile, Proxy};

use crate::environment;
use crate::error::Error;

/// Vaults that documents may name: `all`, `none`, or addresses.
const ALLOWED: &str = "SOPS_HC_VAULT_ALLOWLIST";
const NAMESPACE: &str = "VAULT_NAMESPACE";
const AUTHORITY: &str = "VAULT_CACERT";
const AUTHORITY_BYTES: &str = "VAULT_CACERT_BYTES";
const AUTHORITY_FOLDER: &str = "VAULT_CAPATH";
const CERTIFICATE: &str = "VAULT_CLIENT_CERT";
const KEY: &str = "VAULT_CLIENT_KEY";
const SERVER_NAME: &str = "VAULT_TLS_SERVER_NAME";
const UNCHECKED: &str = "VAULT_SKIP_VERIFY";
const PROXIES: [&str; 2] = ["VAULT_PROXY_ADDR", "VAULT_HTTP_PROXY"];

/// A Vault that may be asked.
pub(super) struct Server {
    /// The address as documents have it.
    pub(super) address: String,
    url: Url,
    client: Client,
}

impl Server {
    /// The Vault of an address, if the operator allows it.
    pub(super) fn at(address: &str, clients: &Clients) -> Result<Self, Error> {
        let allowed = variable(ALLOWED).unwrap_or_else(|| "all".to_owned());
        if !is_allowed(&allowed, address) {
            return Err(Error::NotAllowed(address.to_owned()));
        }
        let url = Url::parse(address).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.filter(|url| url.query().is_none() && url.fragment().is_none());
        let url = url.ok_or_else(|| Error::Address { server: "Vault", address: address.to_owned() })?;
        Ok(Self { address: address.to_owned(), url, client: clients.get(&profile()?)? })
    }

    /// A request to a path of the API.
    pub(super) fn post(&self, path: &str) -> Result<RequestBuilder, Error> {
        let refused = || Error::Address { server: "Vault", address: format!("{}/v1/{path}", self.address) };
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        if parts.iter().any(|part| matches!(*part, "." | "..")) {
            return Err(refused());
        }
        let mut url = self.url.clone();
        url.path_segments_mut().map_err(|()| refused())?.pop_if_empty().push("v1").extend(parts);
        let request = self.client.post(url).header("x-vault-request", "true");
        Ok(match variable(NAMESPACE) {
            Some(namespace) => request.header("x-vault-namespace", namespace),
            None => request,
        })
    }
}

pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns true when a list of addresses has one that an address begins with.
fn is_allowed(list: &str, address: &str) -> bool {
    let whole = |address: &str| format!("{}/", address.trim().trim_end_matches('/'));
    match list {
        "all" => true,
        "none" => false,
        _ => list
            .split(',')
            .any(|allowed| !allowed.trim().is_empty() && whole(address).starts_with(&whole(allowed))),
    }
}

/// The way to every Vault.
fn profile() -> Result<Profile, Error> {
    let read = |name: &'static str| {
        let path = variable(name).map(PathBuf::from);
        path.map(|path| environment::file(name, &path)).transpose()
    };
    let ca = match (variable(AUTHORITY_BYTES), variable(AUTHORITY_FOLDER)) {
        (Some(pem), _) => Some(pem),
        (None, None) => read(AUTHORITY)?,
        (None, Some(folder)) => match read(AUTHORITY)? {
            Some(pem) => Some(pem),
            None => Some(environment::files(AUTHORITY_FOLDER, Path::new(&folder))?),
        },
    };
    let pair = read(CERTIFICATE)?.zip(read(KEY)?);
    let proxy = PROXIES.iter().find_map(|name| variable(name)).and_then(|address| Url::parse(&address).ok());
    Ok(Profile {
        ca: ca.map(String::into_bytes),
        server_name: variable(SERVER_NAME),
        certificate: pair.map(|(chain, key)| ClientCertificate::new(chain, key)),
        proxy: proxy.map(Proxy::from_url),
        accept_invalid_certificates: matches!(
            variable(UNCHECKED).as_deref(),
            Some("1" | "true" | "True" | "TRUE")
        ),
        secret_bodies: true,
        ..Profile::default()
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    #[rstest]
    #[case("all", "https://a", true)]
    #[case("none", "https://a", false)]
    #[case("https://a, https://b:8200/", "https://b:8200", true)]
    #[case("https://a", "https://a.evil.example", false)]
    #[case("https://a", "https://a/path", true)]
    #[case(" ", "https://a", false)]
    fn allowed(#[case] list: &str, #[case] address: &str, #[case] expected: bool) {
        assert_eq!(super::is_allowed(list, address), expected);
    }
}
