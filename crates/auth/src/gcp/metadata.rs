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

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::extract::Request;
    use axum::http::StatusCode;
    use secrecy::ExposeSecret;
    use weir_testkit::Server;

    use super::*;
    use crate::credentials::Credentials;

    /// Answers as a node of GKE does, and refuses whoever does not say that the server of metadata is meant.
    async fn answer(request: Request) -> (StatusCode, &'static str) {
        let flavor = request.headers().get("metadata-flavor").and_then(|value| value.to_str().ok());
        if flavor != Some("Google") {
            return (StatusCode::FORBIDDEN, "Missing Metadata-Flavor:Google header.");
        }
        let answer = match request.uri().path().trim_start_matches("/computeMetadata/v1/") {
            "project/project-id" => "my-project",
            "instance/attributes/cluster-location" => "europe-west1\n",
            "instance/attributes/cluster-name" => "fleet",
            "instance/service-accounts/default/token" => {
                r#"{"access_token":"of-the-node","expires_in":3599,"token_type":"Bearer"}"#
            }
            _ => return (StatusCode::NOT_FOUND, ""),
        };
        (StatusCode::OK, answer)
    }

    /// SRC-CLD-1, SRC-CLD-2
    #[tokio::test]
    async fn a_node_says_who_and_where_it_is() {
        let server = Server::start(Router::new().fallback(answer), None).await.unwrap();
        let base = format!("http://{}/computeMetadata/v1", server.address());
        let metadata = Metadata { client: rest::machine_client().unwrap(), base };
        let login = metadata.login().await.unwrap();
        let Credentials::Bearer(token) = login.credentials else { panic!("a token is a bearer's") };
        assert_eq!(token.expose_secret(), "of-the-node");
        let (own, googles) = metadata.audiences().await.unwrap();
        assert_eq!(own, "my-project.svc.id.goog");
        let cluster =
            "https://container.googleapis.com/v1/projects/my-project/locations/europe-west1/clusters/fleet";
        assert_eq!(googles, format!("identitynamespace:my-project.svc.id.goog:{cluster}"));
    }
}
