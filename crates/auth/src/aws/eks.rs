//! Clusters of Amazon's: where they are, and tokens for them (KS-IMP-7, KS-IMP-8).

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use url::Url;

use super::Session;
use super::sign::Unsigned;
use crate::cluster::{Place, authority};
use crate::credentials::Login;
use crate::error::{LoginError, ProviderError};
use crate::rest;

const PATTERN: &str = r"^arn:aws[\w-]*:eks:([^:]{1,100}):[0-9]{1,30}:cluster/(.{1,200})$";
/// Lengths of the parts in the pattern.
const MAX_REGION: usize = 100;
const MAX_ACCOUNT: usize = 30;
const MAX_NAME: usize = 200;
/// Life of a signed URL, which is the token's: the longest that clusters accept.
const LIFE: Duration = Duration::from_secs(15 * 60);
/// Begin of each token.
const PREFIX: &str = "k8s-aws-v1.";
/// Header that says which cluster a token is for; it is signed, so that no other cluster accepts it.
const CLUSTER_HEADER: &str = "x-k8s-aws-id";

/// The name of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Eks {
    arn: String,
    partition: String,
    region: String,
    name: String,
}

#[derive(Deserialize)]
struct Answer {
    cluster: Described,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Described {
    endpoint: String,
    certificate_authority: Authority,
}

#[derive(Deserialize)]
struct Authority {
    data: String,
}

impl Eks {
    /// The cluster of an ARN, which is needed always: it has the region.
    pub(crate) fn named(arn: &str) -> Result<Self, LoginError> {
        Self::parse(arn).ok_or_else(|| LoginError::ClusterName {
            kind: "EKS cluster ARN",
            name: arn.to_owned(),
            pattern: PATTERN,
        })
    }

    fn parse(arn: &str) -> Option<Self> {
        let parts: Vec<&str> = arn.splitn(6, ':').collect();
        let ["arn", partition, "eks", region, account, cluster] = parts.as_slice() else { return None };
        let is_word = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        let name = cluster.strip_prefix("cluster/")?;
        // A region is part of host names: nothing else must hide in the pattern's `[^:]`.
        let is_valid = partition.starts_with("aws")
            && is_word(partition)
            && is_word(region)
            && (1..=MAX_REGION).contains(&region.len())
            && (1..=MAX_ACCOUNT).contains(&account.len())
            && account.bytes().all(|byte| byte.is_ascii_digit())
            && (1..=MAX_NAME).contains(&name.chars().count())
            && !name.contains('\n');
        let own = |text: &str| text.to_owned();
        is_valid.then(|| Self {
            arn: own(arn),
            partition: own(partition),
            region: own(region),
            name: own(name),
        })
    }

    pub(crate) fn region(&self) -> &str {
        &self.region
    }

    fn host(&self, service: &str) -> String {
        let suffix = match self.partition.as_str() {
            "aws-cn" => "amazonaws.com.cn",
            "aws-eusc" => "amazonaws.eu",
            "aws-iso" => "c2s.ic.gov",
            "aws-iso-b" => "sc2s.sgov.gov",
            _ => "amazonaws.com",
        };
        format!("{service}.{}.{suffix}", self.region)
    }

    /// Asks the service where the cluster is.
    pub(crate) async fn describe(&self, session: &Session) -> Result<Place, ProviderError> {
        let failed = |error: ProviderError| ProviderError::Resource {
            what: "failed to describe EKS cluster",
            resource: self.arn.clone(),
            reason: error.to_string(),
        };
        let mut url = parsed(&format!("https://{}/clusters", self.host("eks")))?;
        if let Ok(mut path) = url.path_segments_mut() {
            path.push(&self.name);
        }
        let unsigned = Unsigned {
            service: "eks",
            region: &self.region,
            method: "GET",
            url: url.as_str(),
            headers: &[],
            body: b"",
        };
        let mut request = session.client.get(url.clone());
        for (name, value) in unsigned.headers(session)? {
            request = request.header(name, value);
        }
        let Answer { cluster } = rest::json("EKS", request).await.map_err(failed)?;
        let ca = authority("EKS", &cluster.certificate_authority.data)?;
        Ok(Place { address: cluster.endpoint, ca })
    }

    /// A token: the signed URL of a question to STS, which the cluster asks to find out who we are.
    pub(crate) fn token(&self, session: &Session) -> Result<Login, ProviderError> {
        let question = "Action=GetCallerIdentity&Version=2011-06-15";
        let url = format!("https://{}/?{question}", self.host("sts"));
        let unsigned = Unsigned {
            service: "sts",
            region: &self.region,
            method: "GET",
            url: &url,
            headers: &[(CLUSTER_HEADER, &self.name)],
            body: b"",
        };
        let url = unsigned.presigned(session, LIFE)?;
        let token = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(url.as_str()));
        Ok(Login::bearer(token.into(), rest::in_seconds(LIFE.as_secs())))
    }
}

fn parsed(url: &str) -> Result<Url, ProviderError> {
    Url::parse(url).map_err(|error| ProviderError::Unusable { what: "region", reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("arn:aws:eks:eu-west-1:123456789012:cluster/app", Some("eks.eu-west-1.amazonaws.com"))]
    #[case("arn:aws-cn:eks:cn-north-1:1:cluster/app", Some("eks.cn-north-1.amazonaws.com.cn"))]
    #[case("arn:aws-us-gov:eks:us-gov-west-1:1:cluster/a/b", Some("eks.us-gov-west-1.amazonaws.com"))]
    #[case("arn:aws:eks:evil.example/:1:cluster/app", None)]
    #[case("arn:aws:eks:eu-west-1:1:cluster/", None)]
    #[case("arn:aws:eks:eu-west-1:x:cluster/app", None)]
    #[case("arn:aws:ecs:eu-west-1:1:cluster/app", None)]
    #[case("", None)]
    fn names(#[case] arn: &str, #[case] host: Option<&str>) {
        assert_eq!(Eks::parse(arn).map(|eks| eks.host("eks")).as_deref(), host);
    }
}
