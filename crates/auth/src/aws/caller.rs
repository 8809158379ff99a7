//! Proof of who we are at AWS, for others: a signed request that they send to Amazon's STS in our place.

use aws_config::meta::region::RegionProviderChain;
use reqwest::Client;
use secrecy::SecretString;
use url::form_urlencoded::byte_serialize;

use super::Session;
use super::sign::Unsigned;
use crate::error::ProviderError;
use crate::identity::Identity;

/// Header that binds the proof to whom it is for.
const TARGET: &str = "x-goog-cloud-target-resource";
/// The part of the URL that stands for the region.
const REGION: &str = "{region}";
const METHOD: &str = "POST";
const AUTHORIZATION: &str = "Authorization";

/// Returns the proof for `audience`, a request to `url`. The region is that of the environment, of the profile or of the machine.
pub(crate) async fn proof(
    client: &Client,
    identity: &Identity,
    url: &str,
    audience: &str,
) -> Result<SecretString, ProviderError> {
    let region = RegionProviderChain::default_provider().region().await;
    let region = region.ok_or(ProviderError::NoPodRegion)?;
    let session = Session::open(client, identity, Some(region.as_ref()), None).await?;
    session.proof(&url.replace(REGION, region.as_ref()), audience)
}

impl Session {
    fn proof(&self, url: &str, audience: &str) -> Result<SecretString, ProviderError> {
        let headers = [(TARGET, audience)];
        let unsigned = Unsigned {
            service: "sts",
            region: &self.region,
            method: METHOD,
            url,
            headers: &headers,
            body: b"",
        };
        let host = url::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
        let mut all = unsigned.headers(self)?;
        // With a capital, as in Google's documentation.
        for (name, _) in all.iter_mut().filter(|(name, _)| name == "authorization") {
            *name = AUTHORIZATION.to_owned();
        }
        all.push(("host".to_owned(), host.unwrap_or_default()));
        all.push((TARGET.to_owned(), audience.to_owned()));
        let all: Vec<_> =
            all.into_iter().map(|(key, value)| serde_json::json!({ "key": key, "value": value })).collect();
        let request = serde_json::json!({ "url": url, "method": METHOD, "headers": all }).to_string();
        Ok(byte_serialize(request.as_bytes()).collect::<String>().into())
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_sts::config::Credentials as Keys;
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn a_proof_names_whom_it_is_for() {
        let keys = Keys::new("AKID", "hush", Some("session".to_owned()), None, "test");
        let session = Session { client: Client::new(), region: "eu-west-1".to_owned(), keys };
        let url = "https://sts.eu-west-1.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15";
        let proof = session.proof(url, "//iam.googleapis.com/pool").unwrap();
        let proof = url::form_urlencoded::parse(format!("p={}", proof.expose_secret()).as_bytes())
            .find_map(|(name, value)| (name == "p").then(|| value.into_owned()));
        let proof: serde_json::Value = serde_json::from_str(&proof.unwrap()).unwrap();
        assert_eq!((proof["url"].as_str(), proof["method"].as_str()), (Some(url), Some("POST")));
        let headers = proof["headers"].as_array().unwrap();
        let header =
            |name: &str| headers.iter().find(|it| it["key"] == name).unwrap()["value"].as_str().unwrap();
        assert_eq!(header("host"), "sts.eu-west-1.amazonaws.com");
        assert_eq!(header(TARGET), "//iam.googleapis.com/pool");
        assert_eq!(header("x-amz-security-token"), "session");
        let signed = "SignedHeaders=host;x-amz-date;x-amz-security-token;x-goog-cloud-target-resource";
        let authorization = header(AUTHORIZATION);
        assert!(authorization.starts_with("AWS4-HMAC-SHA256 Credential=AKID/"), "{authorization}");
        assert!(authorization.contains("/eu-west-1/sts/aws4_request"), "{authorization}");
        assert!(authorization.contains(signed), "{authorization}");
        assert!(!proof.to_string().contains("hush"));
    }
}
