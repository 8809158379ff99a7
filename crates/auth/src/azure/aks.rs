//! Clusters of Azure's: where they are, and tokens for them (KS-IMP-7, KS-IMP-8).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::config::Kubeconfig;
use reqwest::{Client, Method};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{login, other_cloud};
use crate::cluster::{Place, authority, is_same_server};
use crate::credentials::{Credentials, Login};
use crate::error::{LoginError, ProviderError};
use crate::identity::Identity;
use crate::rest;

const PATTERN: &str = r"(?i)^/subscriptions/([^/]{36})/resourceGroups/([^/]{1,200})/providers/Microsoft\.ContainerService/managedClusters/([^/]{1,200})$";
/// Lengths of the parts in the pattern.
const SUBSCRIPTION: usize = 36;
const MAX_NAME: usize = 200;
/// The servers of all clusters that use Entra ID are one application.
const SCOPE: &str = "6dae42f8-4368-4678-94ff-3960e28e3630/.default";
const VERSION: &str = "2024-02-01";
/// The API of the public cloud, and of others, by a part of the authority that the environment names.
const API: &str = "https://management.azure.com";
const OTHERS: [(&str, &str); 2] = [
    ("chinacloudapi.cn", "https://management.chinacloudapi.cn"),
    ("microsoftonline.us", "https://management.usgovcloudapi.net"),
];
const AUTHORITY_VARIABLE: &str = "AZURE_AUTHORITY_HOST";
const NO_ENTRA: &str = "does not have Microsoft Entra ID integration enabled. See docs for enabling: https://learn.microsoft.com/en-us/azure/aks/enable-authentication-microsoft-entra-id";

/// The name of a cluster: its path in the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Aks(String);

#[derive(Deserialize)]
struct Described {
    properties: Properties,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Properties {
    aad_profile: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Credentialed {
    #[serde(default)]
    kubeconfigs: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    /// In base64.
    value: String,
}

impl Aks {
    pub(crate) fn named(name: &str) -> Result<Self, LoginError> {
        // Part of a URL: nothing else must hide in the pattern's `[^/]`.
        let is_part = |part: &str| {
            (1..=MAX_NAME).contains(&part.len())
                && part
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'(' | b')'))
                && !matches!(part, "." | "..")
        };
        let parts: Vec<&str> = name.split('/').collect();
        let is_valid = match parts.as_slice() {
            ["", subscriptions, id, groups, group, providers, kind, clusters, cluster] => {
                let words = [subscriptions, groups, providers, kind, clusters];
                let expected = [
                    "subscriptions",
                    "resourceGroups",
                    "providers",
                    "Microsoft.ContainerService",
                    "managedClusters",
                ];
                words.iter().zip(expected).all(|(word, expected)| word.eq_ignore_ascii_case(expected))
                    && id.len() == SUBSCRIPTION
                    && [id, group, cluster].into_iter().all(|part| is_part(part))
            }
            _ => false,
        };
        match is_valid {
            true => Ok(Self(name.to_owned())),
            false => Err(LoginError::ClusterName {
                kind: "AKS cluster ID",
                name: name.to_owned(),
                pattern: PATTERN,
            }),
        }
    }

    /// A token for the API server of any cluster.
    pub(crate) async fn token(client: &Client, identity: &Identity) -> Result<Login, ProviderError> {
        login(client, identity, SCOPE).await
    }

    /// Asks the service for the cluster with that address, or its first one if that is empty.
    pub(crate) async fn describe(
        &self,
        client: &Client,
        identity: &Identity,
        address: &str,
    ) -> Result<Place, ProviderError> {
        let api = api();
        let access = login(client, identity, &format!("{api}/.default")).await;
        let access = access.map_err(|error| ProviderError::ClusterToken(Box::new(error)))?;
        let url = format!("{api}{}", self.0);
        let described: Described = self.ask(client, Method::GET, &url, &access).await?;
        if described.properties.aad_profile.is_none() {
            return Err(self.failed("AKS cluster", NO_ENTRA.to_owned()));
        }
        let url = format!("{url}/listClusterUserCredential");
        let answer: Credentialed = self.ask(client, Method::POST, &url, &access).await?;
        let mut addresses = Vec::new();
        for named in answer.kubeconfigs {
            let place = place(&named)?;
            if address.is_empty() || is_same_server(address, &place.address) {
                return Ok(place);
            }
            addresses.push(format!("'{}'", place.address));
        }
        Err(match address {
            "" => self.failed("no kubeconfig found for AKS cluster", "the answer has none".to_owned()),
            _ => self.failed(
                "no kubeconfig found for AKS cluster",
                format!(
                    "none matches the specified address '{address}'. cluster addresses: [{}]",
                    addresses.join(", ")
                ),
            ),
        })
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        client: &Client,
        method: Method,
        url: &str,
        access: &Login,
    ) -> Result<T, ProviderError> {
        let mut request = client.request(method.clone(), url).query(&[("api-version", VERSION)]);
        if let Credentials::Bearer(token) = &access.credentials {
            request = request.bearer_auth(token.expose_secret());
        }
        if method == Method::POST {
            request = request.header("content-length", "0");
        }
        let answer = rest::json("Azure", request).await;
        answer.map_err(|error| self.failed("failed to describe AKS cluster", error.to_string()))
    }

    fn failed(&self, what: &'static str, reason: String) -> ProviderError {
        ProviderError::Resource { what, resource: self.0.clone(), reason }
    }
}

/// The API of the cloud that the environment names.
fn api() -> String {
    if let Some(environment) = other_cloud() {
        return environment.resource_manager_endpoint.trim_end_matches('/').to_owned();
    }
    let authority = std::env::var(AUTHORITY_VARIABLE).unwrap_or_default();
    let other = OTHERS.iter().find(|(part, _)| authority.contains(part));
    other.map_or(API, |(_, api)| api).to_owned()
}

/// Address and authority of a kubeconfig's first cluster.
fn place(named: &Named) -> Result<Place, ProviderError> {
    let unusable = || ProviderError::Answer { what: "Azure", missing: "kubeconfig" };
    let bytes = STANDARD.decode(&named.value).map_err(|_| unusable())?;
    let text = String::from_utf8(bytes).map_err(|_| unusable())?;
    let config = Kubeconfig::from_yaml(&text).map_err(|_| unusable())?;
    let cluster = config.clusters.into_iter().next().and_then(|named| named.cluster).ok_or_else(unusable)?;
    let ca = authority("Azure", &cluster.certificate_authority_data.unwrap_or_default())?;
    Ok(Place { address: cluster.server.unwrap_or_default(), ca })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const ID: &str = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/rg/providers/Microsoft.ContainerService/managedClusters/app";

    #[rstest]
    #[case(ID.to_owned(), true)]
    #[case(ID.to_lowercase(), true)]
    #[case(ID.replace("0000-", "0-"), false)]
    #[case(ID.replace("rg", ".."), false)]
    #[case(ID.replace("app", "a?b"), false)]
    #[case(format!("{ID}/x"), false)]
    fn names(#[case] name: String, #[case] expected: bool) {
        assert_eq!(Aks::named(&name).is_ok(), expected);
    }
}
