//! Identities of other issuers: a file names the place of their token, and where Google gives one of its own for it. CI jobs have
//! such files.

use std::collections::BTreeMap;
use std::path::PathBuf;

use reqwest::Client;
use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

use super::default_credentials::{read, unusable};
use super::executable::{Executable, Wanted};
use super::{JWT, exchange, impersonate};
use crate::credentials::Login;
use crate::error::ProviderError;
use crate::identity::Identity;
use crate::{aws, rest};

/// Environment of credentials that are proven by keys of AWS.
const AWS: &str = "aws1";
/// Request that these keys sign, where the file names none.
const STS: &str = "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15";

/// An identity that another issuer proves.
#[derive(Deserialize)]
pub(super) struct ExternalAccount {
    audience: String,
    token_url: String,
    #[serde(default = "jwt")]
    subject_token_type: String,
    service_account_impersonation_url: Option<String>,
    credential_source: Source,
}

/// The place of the issuer's token.
#[derive(Deserialize)]
struct Source {
    /// Mounted, such as that of a Pod.
    file: Option<PathBuf>,
    /// Named where keys of AWS prove the identity.
    environment_id: Option<String>,
    /// Request that these keys sign.
    #[serde(default = "of_sts")]
    regional_cred_verification_url: String,
    /// Printed by a program.
    executable: Option<Executable>,
    /// Requested, such as that of a job of GitHub Actions.
    url: Option<String>,
    /// Headers of the request. They may be secret.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    format: Format,
}

/// The form of file or answer: the token alone, or JSON around it.
#[derive(Deserialize, Default)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Format {
    #[default]
    Text,
    Json {
        subject_token_field_name: String,
    },
}

fn jwt() -> String {
    JWT.to_owned()
}

fn of_sts() -> String {
    STS.to_owned()
}

impl ExternalAccount {
    pub(super) async fn login(self, client: &Client, identity: &Identity) -> Result<Login, ProviderError> {
        let token = self.proof(client, identity).await?;
        let (audience, kind) = (&self.audience, &self.subject_token_type);
        let login = exchange(client, &self.token_url, audience, kind, &token).await?;
        match &self.service_account_impersonation_url {
            Some(url) => impersonate(client, url, &[], &login).await,
            None => Ok(login),
        }
    }

    /// Returns the token of the issuer, or what stands for it.
    async fn proof(&self, client: &Client, identity: &Identity) -> Result<SecretString, ProviderError> {
        let source = &self.credential_source;
        match (&source.environment_id, &source.executable) {
            (Some(environment), _) if environment == AWS => {
                let url = &source.regional_cred_verification_url;
                aws::proof(client, identity, url, &self.audience).await
            }
            (Some(environment), _) => {
                let text = format!(
                    "its credential_source is of environment '{environment}', which is not known here"
                );
                Err(unusable(text))
            }
            (None, Some(program)) => match identity {
                Identity::Person => program.token(&self.wanted()).await,
                _ => Err(unusable("it names a program, and services run none".to_owned())),
            },
            (None, None) => source.token(client).await,
        }
    }

    /// Returns the identity that a program is to give a token for.
    fn wanted(&self) -> Wanted<'_> {
        let url = self.service_account_impersonation_url.as_deref();
        let account = url.and_then(|url| url.rsplit_once('/')?.1.strip_suffix(":generateAccessToken"));
        Wanted { audience: &self.audience, token_type: &self.subject_token_type, email: account }
    }
}

impl Source {
    async fn token(&self, client: &Client) -> Result<SecretString, ProviderError> {
        let found = match (&self.file, &self.url) {
            (Some(path), _) => read(path).await?,
            (None, Some(url)) => self.requested(client, url).await?,
            (None, None) => {
                return Err(unusable("its credential_source has neither a file nor a url".to_owned()));
            }
        };
        self.format.token(&found)
    }

    /// Requests the token. Places without TLS are services of the machine, which no proxy has to see.
    async fn requested(&self, client: &Client, url: &str) -> Result<Vec<u8>, ProviderError> {
        let url: Url =
            url.parse().map_err(|_| unusable("the url of its credential_source is none".to_owned()))?;
        let client = if url.scheme() == "https" { client.clone() } else { rest::machine_client()? };
        let mut request = client.get(url);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        // A server that repeats a token may leave out the word before it (`Bearer`).
        let words =
            |value: &String| [value.clone(), value.split(' ').next_back().unwrap_or_default().to_owned()];
        let secrets: Vec<SecretString> = self.headers.values().flat_map(words).map(Into::into).collect();
        rest::bytes(request, &secrets).await.map(|bytes| bytes.to_vec())
    }
}

impl Format {
    fn token(&self, found: &[u8]) -> Result<SecretString, ProviderError> {
        let token = match self {
            Self::Text => std::str::from_utf8(found).ok().map(|text| text.trim().to_owned()),
            Self::Json { subject_token_field_name: field } => {
                let json: Option<serde_json::Value> = serde_json::from_slice(found).ok();
                json.and_then(|json| json.get(field)?.as_str().map(str::to_owned))
            }
        };
        let token = token.filter(|token| !token.is_empty());
        token.map(Into::into).ok_or_else(|| unusable("its credential_source gives no token".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[rstest::rstest]
    #[case("{}", " a.b.c\n", Some("a.b.c"))]
    #[case(r#"{"format":{"type":"text"}}"#, "a.b.c", Some("a.b.c"))]
    #[case(
        r#"{"format":{"type":"json","subject_token_field_name":"value"}}"#,
        r#"{"value":"a.b.c"}"#,
        Some("a.b.c")
    )]
    #[case(r#"{"format":{"type":"json","subject_token_field_name":"value"}}"#, r#"{"token":"a.b.c"}"#, None)]
    #[case("{}", "\n", None)]
    fn tokens(#[case] source: &str, #[case] found: &str, #[case] expected: Option<&str>) {
        let source: Source = serde_json::from_str(source).unwrap();
        let token = source.format.token(found.as_bytes()).ok();
        assert_eq!(token.as_ref().map(ExposeSecret::expose_secret), expected);
    }

    fn account(source: serde_json::Value) -> ExternalAccount {
        let account = serde_json::json!({ "audience": "a", "token_url": "https://t", "credential_source": source,
            "service_account_impersonation_url": "https://i/v1/projects/-/serviceAccounts/ci@p:generateAccessToken" });
        serde_json::from_value(account).unwrap()
    }

    #[tokio::test]
    async fn other_environments_are_refused_by_name() {
        let account = account(serde_json::json!({ "environment_id": "aws2" }));
        let error = account.proof(&Client::new(), &Identity::Person).await.unwrap_err();
        assert!(error.to_string().contains("environment 'aws2', which is not known here"), "{error}");
    }

    #[test]
    fn a_program_is_told_whom_its_token_is_for() {
        let account = account(serde_json::json!({ "executable": { "command": "x" } }));
        let Wanted { audience, token_type, email } = account.wanted();
        assert_eq!((audience, token_type, email), ("a", JWT, Some("ci@p")));
    }
}
