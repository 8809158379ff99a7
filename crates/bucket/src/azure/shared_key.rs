//! Signatures with the key of an account.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use reqwest::Request;
use reqwest::header::{HeaderValue, IF_MATCH};
use secrecy::{ExposeSecret, SecretSlice, SecretString};
use sha2::Sha256;
use url::{Host, Url};

use crate::error::Error;

/// An account with its key.
pub(super) struct SharedKey {
    account: String,
    key: SecretSlice<u8>,
}

impl SharedKey {
    /// The key of the account that a container's URL names.
    pub(super) fn new(container: &Url, key: &SecretString) -> Result<Self, Error> {
        let bytes = STANDARD.decode(key.expose_secret().trim());
        let bytes = bytes
            .map_err(|_| Error::Credential { what: "'accountKey'", reason: "it is not base64".to_owned() })?;
        let account = account(container).ok_or_else(|| Error::Endpoint {
            endpoint: crate::error::shown(container),
            reason: "failed to extract account name from endpoint".to_owned(),
        })?;
        Ok(Self { account, key: bytes.into() })
    }

    /// Dates the request and returns what its `Authorization` has to say.
    pub(super) fn sign(&self, request: &mut Request, now: Timestamp) -> Result<String, Error> {
        let date = now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let date = HeaderValue::from_str(&date).map_err(|error| Error::malformed("date", error))?;
        request.headers_mut().insert("x-ms-date", date);
        let signed = |error: &dyn std::fmt::Display| Error::Signature { reason: error.to_string() };
        let mut mac =
            Hmac::<Sha256>::new_from_slice(self.key.expose_secret()).map_err(|error| signed(&error))?;
        mac.update(self.text(request).as_bytes());
        let signature = STANDARD.encode(mac.finalize().into_bytes());
        Ok(format!("SharedKey {}:{signature}", self.account))
    }

    /// Returns the text to sign: the method, the standard headers, Azure's own, and the resource.
    fn text(&self, request: &Request) -> String {
        let header = |name: &reqwest::header::HeaderName| {
            request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
        };
        // Eleven standard headers, of which these requests have at most If-Match, the eighth.
        let mut text = format!("{}\n\n\n\n\n\n\n\n{}\n\n\n\n", request.method(), header(&IF_MATCH));
        let own: BTreeMap<&str, String> = request
            .headers()
            .keys()
            .filter(|name| name.as_str().starts_with("x-ms-"))
            .map(|name| (name.as_str(), header(name)))
            .collect();
        text.extend(own.into_iter().map(|(name, value)| format!("{name}:{value}\n")));
        text.push_str(&format!("/{}{}", self.account, request.url().path()));
        let query: BTreeMap<String, String> = request
            .url()
            .query_pairs()
            .map(|(name, value)| (name.to_lowercase(), value.into_owned()))
            .collect();
        text.extend(query.into_iter().map(|(name, value)| format!("\n{name}:{value}")));
        text
    }
}

/// The first label of the host; the emulator, which has no names, puts the account into the path.
fn account(container: &Url) -> Option<String> {
    let account = match container.host()? {
        Host::Domain(name) if name.contains('.') => name.split('.').next()?,
        _ => container.path_segments()?.next()?,
    };
    (!account.is_empty()).then(|| account.to_owned())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("https://acc.blob.core.windows.net/c", Some("acc"))]
    #[case("http://127.0.0.1:10000/devstoreaccount1/c", Some("devstoreaccount1"))]
    #[case("http://localhost:10000/devstoreaccount1/c", Some("devstoreaccount1"))]
    fn accounts(#[case] container: &str, #[case] name: Option<&str>) {
        assert_eq!(account(&Url::parse(container).unwrap()).as_deref(), name);
    }

    #[test]
    fn what_is_signed() {
        let container = Url::parse("https://acc.blob.core.windows.net/c").unwrap();
        let key = SharedKey::new(&container, &"a2V5".into()).unwrap();
        let url =
            Url::parse("https://acc.blob.core.windows.net/c/a%20b?restype=container&comp=list&prefix=x%2Fy");
        let mut request = Request::new(reqwest::Method::GET, url.unwrap());
        request.headers_mut().insert("x-ms-version", HeaderValue::from_static("2021-12-02"));
        request.headers_mut().insert(IF_MATCH, HeaderValue::from_static("\"e\""));
        let authorization = key.sign(&mut request, Timestamp::UNIX_EPOCH).unwrap();
        let expected = "GET\n\n\n\n\n\n\n\n\"e\"\n\n\n\nx-ms-date:Thu, 01 Jan 1970 00:00:00 GMT\nx-ms-version:2021-12-02\n\
                        /acc/c/a%20b\ncomp:list\nprefix:x/y\nrestype:container";
        assert_eq!(key.text(&request), expected);
        assert!(authorization.starts_with("SharedKey acc:"), "{authorization}");
    }
}
