//! The metadata server of Google's machines and of GKE's nodes.

use std::time::Duration;

use reqwest::Client;

use super::{Answer, SCOPES};
use crate::credentials::Login;
use crate::error::ProviderError;
use crate::rest;

/// Default host.
const HOST: &str = "metadata.google.internal";
const HOST_VARIABLE: &str = "GCE_METADATA_HOST";
/// It is on the same machine; where there is none, its name has no address or nobody answers.
const TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct Metadata {
    client: Client,
    base: String,
}

impl Metadata {
    pub(super) fn new() -> Result<Self, ProviderError> {
        let host = std::env::var(HOST_VARIABLE).unwrap_or_else(|_| HOST.to_owned());
        Ok(Self { client: rest::machine_client()?, base: format!("http://{host}/computeMetadata/v1") })
    }

    /// A token of the machine's, or the pod's, own service account.
    pub(super) async fn login(&self) -> Result<Login, ProviderError> {
        let request =
            self.get("instance/service-accounts/default/token").query(&[("scopes", SCOPES.join(","))]);
        rest::json::<Answer>("metadata server", request).await.map(Answer::login)
    }

    /// Returns the audience of this GKE cluster's tokens, and the cluster's name at Google's STS.
    pub(super) async fn audiences(&self) -> Result<(String, String), ProviderError> {
        let project = self.text("project/project-id", "GKE cluster project ID").await?;
        let location = self.text("instance/attributes/cluster-location", "GKE cluster location").await?;
        let name = self.text("instance/attributes/cluster-name", "GKE cluster name").await?;
        let pool = format!("{project}.svc.id.goog");
        let cluster = format!(
            "https://container.googleapis.com/v1/projects/{project}/locations/{location}/clusters/{name}"
        );
        let googles = format!("identitynamespace:{pool}:{cluster}");
        Ok((pool, googles))
    }

    async fn text(&self, path: &str, what: &'static str) -> Result<String, ProviderError> {
        let bytes = rest::bytes(self.get(path), &[]).await?;
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        if text.is_empty() {
            return Err(ProviderError::Answer { what: "metadata server", missing: what });
        }
        Ok(text)
    }

    fn get(&self, path: &str) -> reqwest::RequestBuilder {
        self.client.get(format!("{}/{path}", self.base)).timeout(TIMEOUT).header("metadata-flavor", "Google")
    }
}
