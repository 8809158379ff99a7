//! Clusters of Google's: where they are (KS-IMP-8).

use reqwest::Client;
use secrecy::ExposeSecret;
use serde::Deserialize;

use crate::cluster::{Place, authority};
use crate::credentials::{Credentials, Login};
use crate::error::{LoginError, ProviderError};
use crate::rest;

const PATTERN: &str = r"^projects/[^/]{1,200}/locations/[^/]{1,200}/clusters/[^/]{1,200}$";
/// Characters of a part in the pattern.
const MAX_PART: usize = 200;
const API: &str = "https://container.googleapis.com/v1/";

/// The name of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gke(String);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    endpoint: String,
    master_auth: MasterAuth,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MasterAuth {
    cluster_ca_certificate: String,
}

impl Gke {
    pub(crate) fn named(name: &str) -> Result<Self, LoginError> {
        // Part of a URL: nothing else must hide in the pattern's `[^/]`.
        let is_part = |part: &str| {
            (1..=MAX_PART).contains(&part.len())
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b':' | b'_'))
                && !matches!(part, "." | "..")
        };
        let parts: Vec<&str> = name.split('/').collect();
        match parts.as_slice() {
            ["projects", project, "locations", location, "clusters", cluster]
                if [project, location, cluster].into_iter().all(|part| is_part(part)) =>
            {
                Ok(Self(name.to_owned()))
            }
            _ => Err(LoginError::ClusterName {
                kind: "GKE cluster ID",
                name: name.to_owned(),
                pattern: PATTERN,
            }),
        }
    }

    /// Asks the service where the cluster is.
    pub(crate) async fn describe(&self, client: &Client, login: &Login) -> Result<Place, ProviderError> {
        let failed = |error: ProviderError| ProviderError::Resource {
            what: "failed to describe GKE cluster",
            resource: self.0.clone(),
            reason: error.to_string(),
        };
        let mut request = client.get(format!("{API}{}", self.0));
        if let Credentials::Bearer(token) = &login.credentials {
            request = request.bearer_auth(token.expose_secret());
        }
        let answer: Answer = rest::json("GKE", request).await.map_err(failed)?;
        let ca = authority("GKE", &answer.master_auth.cluster_ca_certificate)?;
        Ok(Place { address: answer.endpoint, ca })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("projects/p/locations/europe-west1/clusters/app", true)]
    #[case("projects/example.com:p/locations/l/clusters/app", true)]
    #[case("projects/p/locations/l/clusters/app/x", false)]
    #[case("projects/../locations/l/clusters/app", false)]
    #[case("projects/p?x/locations/l/clusters/app", false)]
    #[case("projects//locations/l/clusters/app", false)]
    fn names(#[case] name: &str, #[case] expected: bool) {
        assert_eq!(Gke::named(name).is_ok(), expected);
    }
}
