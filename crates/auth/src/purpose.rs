//! The purpose of a login, and its issuer.

use std::time::SystemTime;

use reqwest::Client;

use crate::cache::fingerprint;
use crate::cluster::Cluster;
use crate::credentials::Login;
use crate::error::ProviderError;
use crate::identity::Identity;
use crate::{aws, azure, gcp, kubernetes};

/// Something that an identity is traded for.
pub(crate) enum Purpose<'a> {
    /// Pulls from one of Amazon's registries.
    Ecr(aws::Registry),
    /// Pulls from one of Azure's registries.
    Acr(azure::Registry),
    /// Pulls from Google's registries.
    Gar,
    /// Git over CodeCommit.
    CodeCommit(aws::Repository),
    /// Keys for requests to AWS.
    AwsKeys { region: Option<&'a str>, sts_endpoint: Option<&'a str> },
    /// A bearer token of Azure.
    AzureToken { scope: &'a str },
    /// A bearer token of Google Cloud.
    GcpToken,
    /// A token of this cluster's API server.
    Kubernetes { audiences: &'a [String] },
    /// The way into another cluster.
    Cluster(Cluster<'a>),
}

impl Purpose<'_> {
    /// Returns the part of the key that names everything that its logins depend on beside the identity and the way to
    /// the provider.
    pub(crate) fn key(&self) -> String {
        match self {
            Purpose::Ecr(registry) => format!("aws/{}", registry.key()),
            Purpose::Acr(registry) => format!("azure/{}", registry.key()),
            Purpose::Gar => "gcp/registry".to_owned(),
            Purpose::CodeCommit(repository) => format!("aws/{}", repository.key()),
            Purpose::AwsKeys { region, sts_endpoint } => {
                format!("aws/keys/{}/{}", region.unwrap_or_default(), sts_endpoint.unwrap_or_default())
            }
            Purpose::AzureToken { scope } => format!("azure/token/{scope}"),
            Purpose::GcpToken => "gcp/token".to_owned(),
            Purpose::Kubernetes { audiences } => {
                format!("kubernetes/{}", fingerprint(audiences.iter().map(String::as_bytes)))
            }
            Purpose::Cluster(cluster) => cluster.key(),
        }
    }

    /// Trades the identity.
    pub(crate) async fn issue(&self, client: &Client, identity: &Identity) -> Result<Login, ProviderError> {
        match self {
            Purpose::Ecr(registry) => {
                let session = aws::Session::open(client, identity, Some(registry.region()), None).await?;
                registry.login(&session).await
            }
            Purpose::Acr(registry) => registry.login(client, identity).await,
            Purpose::Gar => gcp::registry(client, identity).await,
            Purpose::CodeCommit(repository) => {
                let session = aws::Session::open(client, identity, Some(repository.region()), None).await?;
                Ok(repository.login(&session, SystemTime::now()))
            }
            Purpose::AwsKeys { region, sts_endpoint } => {
                let session = aws::Session::open(client, identity, *region, *sts_endpoint).await?;
                Ok(session.login())
            }
            Purpose::AzureToken { scope } => azure::login(client, identity, scope).await,
            Purpose::GcpToken => gcp::login(client, identity).await,
            Purpose::Kubernetes { audiences } => kubernetes::login(identity, audiences).await,
            Purpose::Cluster(cluster) => cluster.login(client, identity).await,
        }
    }
}
