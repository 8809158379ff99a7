//! Azure Blob Storage.

pub(crate) mod listing;
mod shared_key;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{AUTHORIZATION, HeaderValue, IF_MATCH};
use reqwest::{Client, Method, Request, Response};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::error::{Error, shown};
use crate::object::Object;
use crate::page::{MAX_PAGE_BYTES, PAGE_SIZE, Page};
use crate::send::Sender;

/// Version of the interface that is spoken.
const VERSION: &str = "2021-12-02";
/// Characters that are escaped in names of blobs.
const IN_PATH: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');

/// An account of Azure Blob Storage.
#[derive(Debug, Clone)]
pub struct AzureService {
    /// The account's URL, `https://<account>.blob.core.windows.net`; its query goes along with every request.
    pub endpoint: String,
    /// Identity of the requests.
    pub access: AzureAccess,
}

/// The credentials for a container.
#[derive(Debug, Clone, Default)]
pub enum AzureAccess {
    /// By nobody in particular.
    #[default]
    Anonymous,
    /// With the account's key, in base64.
    AccountKey(SecretString),
    /// With a shared access signature: a query, with or without its `?`.
    Signature(SecretString),
    /// With a token of the identity platform for what a Secret of the object holds.
    Token(SecretString),
    /// With a token of an identity that the object only uses, such as the Pod's. It is good for every account that the identity may
    /// read, so that it goes to Azure's own hosts alone.
    SharedToken {
        /// The token.
        token: SecretString,
        /// Domain that follows `blob` and `dfs` in a cloud of its own, such as `east.stack.example`, if the controller is in one.
        suffix: Option<String>,
    },
}

/// Domains of storage accounts: of the public cloud, in China, for the government of the United States, of accounts with a
/// zone of their own, and of OneLake.
const DOMAINS: [&str; 10] = [
    ".blob.core.windows.net",
    ".dfs.core.windows.net",
    ".blob.core.chinacloudapi.cn",
    ".dfs.core.chinacloudapi.cn",
    ".blob.core.usgovcloudapi.net",
    ".dfs.core.usgovcloudapi.net",
    ".blob.storage.azure.net",
    ".dfs.storage.azure.net",
    ".blob.fabric.microsoft.com",
    ".dfs.fabric.microsoft.com",
];

/// A container.
pub(crate) struct Azure {
    sender: Sender,
    container: Url,
    access: Access,
}

enum Access {
    Anonymous,
    Key(shared_key::SharedKey),
    Token(SecretString),
}

impl Azure {
    pub(crate) fn open(name: &str, service: AzureService, client: Client) -> Result<Self, Error> {
        if name.is_empty() || name.contains(['/', '\\', '?', '#', '%']) || matches!(name, "." | "..") {
            return Err(Error::Name { reason: "Bucket name contains invalid characters" });
        }
        let mut container = endpoint(&service.endpoint)?;
        container.set_path(&format!("{}/{name}", container.path().trim_end_matches('/')));
        let mut secrets: Vec<SecretString> =
            container.query_pairs().map(|(_, value)| value.into_owned().into()).collect();
        let access = match service.access {
            AzureAccess::Anonymous => Access::Anonymous,
            AzureAccess::AccountKey(key) => {
                secrets.push(key.clone());
                Access::Key(shared_key::SharedKey::new(&container, &key)?)
            }
            AzureAccess::Signature(signature) => {
                let query = signature.expose_secret().trim().trim_start_matches('?');
                for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
                    container.query_pairs_mut().append_pair(&name, &value);
                    if name == "sig" {
                        secrets.push(value.into_owned().into());
                    }
                }
                Access::Anonymous
            }
            AzureAccess::Token(_) | AzureAccess::SharedToken { .. } if container.scheme() != "https" => {
                return Err(Error::PlainToken);
            }
            AzureAccess::SharedToken { suffix, .. } if !is_azure(&container, suffix.as_deref()) => {
                let host = container.host_str().unwrap_or_default().to_owned();
                return Err(Error::ForeignHost { host });
            }
            AzureAccess::Token(token) | AzureAccess::SharedToken { token, .. } => {
                secrets.push(token.clone());
                Access::Token(token)
            }
        };
        // Words like "2021-12-02" or "r" of a signature are no secrets and would make messages unreadable.
        secrets.retain(|secret| secret.expose_secret().len() > 20);
        Ok(Self { sender: Sender::new(client, secrets), container, access })
    }

    /// Lists one blob: who may read the blobs may not be allowed to read about the container.
    pub(crate) async fn probe(&self) -> Result<(), Error> {
        let query = [("restype", "container"), ("comp", "list"), ("maxresults", "1")];
        self.sender.send(|| self.request(None, &query, None)).await.map(drop).map_err(explained)
    }

    pub(crate) async fn page(&self, prefix: &str, next: Option<&str>) -> Result<Page, Error> {
        let mut query = vec![("restype", "container"), ("comp", "list"), ("maxresults", PAGE_SIZE)];
        if !prefix.is_empty() {
            query.push(("prefix", prefix));
        }
        query.extend(next.map(|next| ("marker", next)));
        let body = self.sender.body("listing", MAX_PAGE_BYTES, || self.request(None, &query, None)).await?;
        listing::read(&body)
    }

    pub(crate) async fn fetch(&self, object: &Object) -> Result<Response, Error> {
        let pin = (!object.pin.is_empty()).then_some(object.pin.as_str());
        self.sender.send(|| self.request(Some(&object.key), &[], pin)).await
    }

    fn request(
        &self,
        key: Option<&str>,
        query: &[(&str, &str)],
        etag: Option<&str>,
    ) -> Result<Request, Error> {
        let mut url = self.container.clone();
        if let Some(key) = key {
            url.set_path(&format!("{}/{}", url.path(), utf8_percent_encode(key, &IN_PATH)));
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut request = Request::new(Method::GET, url);
        let headers = request.headers_mut();
        headers.insert("x-ms-version", HeaderValue::from_static(VERSION));
        if let Some(etag) = etag {
            let value = format!("\"{etag}\"").parse().map_err(|error| Error::malformed("etag", error))?;
            headers.insert(IF_MATCH, value);
        }
        let authorization = match &self.access {
            Access::Anonymous => return Ok(request),
            Access::Token(token) => format!("Bearer {}", token.expose_secret()),
            Access::Key(key) => key.sign(&mut request, jiff::Timestamp::now())?,
        };
        let mut value =
            HeaderValue::from_str(&authorization).map_err(|error| Error::malformed("credential", error))?;
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
        Ok(request)
    }
}

/// Returns true when the host is in one of Azure's storage domains, or in those with the suffix of a cloud of its own.
fn is_azure(url: &Url, suffix: Option<&str>) -> bool {
    let host = url.host_str().unwrap_or_default();
    let is_below = |domain: &str| host.strip_suffix(domain).is_some_and(|account| !account.is_empty());
    let suffix = suffix.map(|suffix| suffix.trim_matches('.').to_ascii_lowercase());
    let own = suffix.filter(|suffix| !suffix.is_empty());
    DOMAINS.iter().any(|domain| is_below(domain))
        || own.is_some_and(|own| ["blob", "dfs"].iter().any(|kind| is_below(&format!(".{kind}.{own}"))))
}

/// A signature for one container is refused for another as a wrong one is: nothing in the answer shows that the
/// container's name is wrong.
fn explained(error: Error) -> Error {
    match error {
        Error::Refused { status, code, message, retry_after, region } if code == "AuthenticationFailed" => {
            let message = format!(
                "the specified bucket name may be incorrect, nonexistent, or the caller might lack sufficient permissions \
                 to access it: {message}"
            );
            Error::Refused { status, code, message, retry_after, region }
        }
        error => error,
    }
}

fn endpoint(text: &str) -> Result<Url, Error> {
    let refuse = |reason: String| {
        // A query holds signatures; user info, in front of the host, passwords.
        let plain = Url::parse(text).map(|url| shown(&url));
        let endpoint = plain.unwrap_or_else(|_| {
            let text = text.split(['?', '#']).next().unwrap_or_default();
            text.rsplit('@').next().unwrap_or_default().to_owned()
        });
        Error::Endpoint { endpoint, reason }
    };
    let url = Url::parse(text).map_err(|error| refuse(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(refuse("it must be a URL with scheme https or http".to_owned()));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("https://weir.blob.core.windows.net/", true)]
    #[case("https://WEIR.dfs.core.windows.net:443", true)]
    #[case("https://weir.privatelink.blob.core.windows.net", true)]
    #[case("https://weir.blob.core.chinacloudapi.cn", true)]
    #[case("https://weir.blob.core.usgovcloudapi.net", true)]
    #[case("https://weir.z12.blob.storage.azure.net", true)]
    #[case("https://onelake.blob.fabric.microsoft.com", true)]
    #[case("https://onelake.dfs.fabric.microsoft.com", true)]
    #[case("https://weir.blob.east.stack.example", true)]
    #[case("https://weir.dfs.east.stack.example", true)]
    #[case("https://weir.east.stack.example", false)]
    #[case("https://weir.blob.stack.example", false)]
    #[case("https://blob.east.stack.example", false)]
    #[case("https://evil.example", false)]
    #[case("https://weir.blob.core.windows.net.evil.example", false)]
    #[case("https://evil.example/weir.blob.core.windows.net", false)]
    #[case("https://weir.blob.core.windows.net@evil.example", false)]
    #[case("https://evilblob.core.windows.net", false)]
    #[case("https://blob.core.windows.net", false)]
    #[case("https://127.0.0.1", false)]
    fn shared_tokens_go_to_azure(#[case] endpoint: &str, #[case] goes: bool) {
        let opened = |access| {
            let service = AzureService { endpoint: endpoint.to_owned(), access };
            Azure::open("apps", service, Client::new()).err().map(|error| error.to_string())
        };
        let shared = |suffix: Option<&str>| {
            opened(AzureAccess::SharedToken { token: "token".into(), suffix: suffix.map(str::to_owned) })
        };
        let refused = shared(Some(".East.stack.example"));
        assert_eq!(refused.is_none(), goes, "{refused:?}");
        assert!(refused.is_none_or(|refused| refused.contains("none of its hosts: use an endpoint such as")));
        let is_of_stack = endpoint.ends_with(".stack.example");
        for none in [None, Some("."), Some("other.example")] {
            assert_eq!(shared(none).is_none(), goes && !is_of_stack, "{none:?}");
        }
        assert_eq!(opened(AzureAccess::Token("token".into())), None, "what a Secret holds may go anywhere");
    }

    #[rstest]
    #[case("https://user:hunter2@ho st/a?sig=hunter2")]
    #[case("ftp://user:hunter2@host/a?sig=hunter2")]
    fn refused_endpoints(#[case] text: &str) {
        let error = endpoint(text).unwrap_err().to_string();
        assert!(error.starts_with("invalid endpoint '") && !error.contains("hunter2"), "{error}");
    }
}
