//! Secrets with TLS material and proxies, in the formats and words that Flux documents (SRC 12.1, 12.4).

use std::collections::BTreeMap;

use secrecy::SecretString;
use url::Url;

use crate::ClientCertificate;
use crate::profile::{Profile, Proxy};

/// Longest proxy address.
const MAX_PROXY_ADDRESS: usize = 2048;
const PROXY_SCHEMES: [&str; 3] = ["http", "https", "socks5"];

/// Keys of TLS material, each with its name in old versions.
const CA: [&str; 2] = ["ca.crt", "caFile"];
const CERTIFICATE: [&str; 2] = ["tls.crt", "certFile"];
const KEY: [&str; 2] = ["tls.key", "keyFile"];

/// The data of a Secret.
pub type SecretData = BTreeMap<String, Vec<u8>>;

/// Errors in a Secret. `place` is its `namespace/name`; nothing of its content is repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// A TLS Secret without any certificate.
    #[error("secret '{place}' must contain either 'ca.crt' or both 'tls.crt' and 'tls.key'")]
    NoCertificate {
        /// The Secret.
        place: String,
    },
    /// One half of a client certificate.
    #[error("secret '{place}' contains '{present}' but missing '{missing}'")]
    HalfCertificate {
        /// The Secret.
        place: String,
        /// The key that it has.
        present: &'static str,
        /// The key that it has not.
        missing: &'static str,
    },
    /// A key that must be there.
    #[error("secret '{place}': key '{key}' not found")]
    NoKey {
        /// The Secret.
        place: String,
        /// The key.
        key: &'static str,
    },
    /// An address of nothing.
    #[error("secret '{place}': proxy address is empty")]
    EmptyProxy {
        /// The Secret.
        place: String,
    },
    /// An address beyond its cap.
    #[error("secret '{place}': proxy URL exceeds maximum length of {MAX_PROXY_ADDRESS} characters")]
    LongProxy {
        /// The Secret.
        place: String,
    },
    /// An address that is no URL. It may hold a password and is not shown.
    #[error("secret '{place}': failed to parse proxy address: {source}")]
    ProxyAddress {
        /// The Secret.
        place: String,
        /// The fault in it.
        #[source]
        source: url::ParseError,
    },
    /// A kind of proxy that we do not speak to.
    #[error(
        "secret '{place}': proxy URL must use one of the supported schemes ({}), got '{scheme}'",
        PROXY_SCHEMES.join(", ")
    )]
    ProxyScheme {
        /// The Secret.
        place: String,
        /// The scheme.
        scheme: String,
    },
}

impl Profile {
    /// The TLS material of a `certSecretRef`: an authority, a client certificate with its key, or both. The keys of old
    /// versions (`caFile`, `certFile`, `keyFile`) are read where the new ones are missing, which is logged (NTF-48).
    ///
    /// # Errors
    /// When there is neither, or half of a client certificate.
    pub fn from_secret(place: &str, data: &SecretData) -> Result<Self, SecretError> {
        let old = old_keys(data);
        if !old.is_empty() {
            tracing::warn!(secret = place, keys = old.join(", "), "using legacy keys in secret data");
        }
        let mut profile = Self::default();
        profile.add_tls(place, data)?;
        if profile.ca.is_none() && profile.certificate.is_none() {
            return Err(SecretError::NoCertificate { place: place.to_owned() });
        }
        Ok(profile)
    }

    /// Adds the TLS material that a Secret has beside other things, if any.
    ///
    /// # Errors
    /// When it has half of a client certificate.
    fn add_tls(&mut self, place: &str, data: &SecretData) -> Result<(), SecretError> {
        let half =
            |present, missing| SecretError::HalfCertificate { place: place.to_owned(), present, missing };
        let key = |[name, old]: [&str; 2]| text(data, name).or_else(|| text(data, old));
        self.ca = key(CA).map(String::into_bytes);
        self.certificate = match (key(CERTIFICATE), key(KEY)) {
            (Some(certificate), Some(key)) => Some(ClientCertificate::new(certificate, key)),
            (Some(_), None) => return Err(half("tls.crt", "tls.key")),
            (None, Some(_)) => return Err(half("tls.key", "tls.crt")),
            (None, None) => None,
        };
        Ok(())
    }

    /// As `add_tls`, of a Secret that is not about certificates: half of a client certificate is taken for none.
    pub fn add_whole_tls(&mut self, data: &SecretData) {
        if self.add_tls("", data).is_err() {
            self.certificate = None;
        }
    }
}

impl Proxy {
    /// The proxy of a `proxySecretRef`: `address`, and `username` with `password` unless the address holds them.
    ///
    /// # Errors
    /// When the address is missing, empty, too long, no URL, or of another scheme.
    pub fn from_secret(place: &str, data: &SecretData) -> Result<Self, SecretError> {
        let place = || place.to_owned();
        if !data.contains_key("address") {
            return Err(SecretError::NoKey { place: place(), key: "address" });
        }
        let address = text(data, "address").ok_or_else(|| SecretError::EmptyProxy { place: place() })?;
        if address.len() > MAX_PROXY_ADDRESS {
            return Err(SecretError::LongProxy { place: place() });
        }
        let url = Url::parse(address.trim());
        let url = url.map_err(|source| SecretError::ProxyAddress { place: place(), source })?;
        if !PROXY_SCHEMES.contains(&url.scheme()) {
            return Err(SecretError::ProxyScheme { place: place(), scheme: url.scheme().to_owned() });
        }
        let Self { address, credentials: inline } = Self::from_url(url);
        let password = || text(data, "password").unwrap_or_default().into();
        let given = text(data, "username").map(|user| (user, password()));
        Ok(Self { address, credentials: given.or(inline) })
    }

    /// The proxy at an address, with the user and the password that stand in it.
    #[must_use]
    pub fn from_url(mut address: Url) -> Self {
        // User info is a secret and belongs to the credentials, not to an address that is logged.
        let credentials = user_info(&address);
        let _ = address.set_password(None);
        let _ = address.set_username("");
        Self { address, credentials }
    }
}

/// The old keys that are read because the new ones are missing.
fn old_keys(data: &SecretData) -> Vec<&'static str> {
    let has = |key: &str| text(data, key).is_some();
    [CA, CERTIFICATE, KEY]
        .into_iter()
        .filter(|[name, old]| !has(name) && has(old))
        .map(|[_, old]| old)
        .collect()
}

/// A key of a Secret as text; nothing when it is missing, empty or no text.
#[must_use]
pub fn text(data: &SecretData, key: &str) -> Option<String> {
    let value = data.get(key).filter(|value| !value.is_empty())?;
    String::from_utf8(value.clone()).ok()
}

/// User and password of a URL, as they were before they were written into it; nothing without a user.
#[must_use]
pub fn user_info(url: &Url) -> Option<(String, SecretString)> {
    let decoded = |part| percent_encoding::percent_decode_str(part).decode_utf8_lossy().into_owned();
    let user = Some(url.username()).filter(|user| !user.is_empty())?;
    Some((decoded(user), decoded(url.password().unwrap_or_default()).into()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use secrecy::ExposeSecret;

    use super::*;

    fn data(pairs: &[(&str, &str)]) -> SecretData {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect()
    }

    #[rstest]
    #[case(&[("other", "x")], "secret 'ns/p': key 'address' not found")]
    #[case(&[("address", "")], "secret 'ns/p': proxy address is empty")]
    #[case(&[("address", "ftp://p")], "secret 'ns/p': proxy URL must use one of the supported schemes (http, https, socks5), got 'ftp'")]
    #[case(&[("address", "http://u:hunter2@p:port")], "secret 'ns/p': failed to parse proxy address: invalid port number")]
    fn refused_proxies(#[case] pairs: &[(&str, &str)], #[case] message: &str) {
        assert_eq!(Proxy::from_secret("ns/p", &data(pairs)).unwrap_err().to_string(), message);
    }

    #[rstest]
    #[case(&[("caFile", "c"), ("certFile", "p"), ("keyFile", "k")], &["caFile", "certFile", "keyFile"])]
    #[case(&[("ca.crt", "c"), ("caFile", "c"), ("certFile", ""), ("keyFile", "k")], &["keyFile"])]
    #[case(&[("ca.crt", "c"), ("tls.crt", "p"), ("tls.key", "k")], &[])]
    fn old_keys_that_are_read(#[case] pairs: &[(&str, &str)], #[case] read: &[&str]) {
        assert_eq!(old_keys(&data(pairs)), read);
    }

    #[test]
    fn long_proxies() {
        let address = format!("http://{}", "p".repeat(MAX_PROXY_ADDRESS));
        let error = Proxy::from_secret("ns/p", &data(&[("address", &address)])).unwrap_err();
        assert_eq!(error.to_string(), "secret 'ns/p': proxy URL exceeds maximum length of 2048 characters");
    }

    #[rstest]
    #[case(&[("address", "http://u:hunter%202@p:3128")], "http://p:3128/", Some(("u", "hunter 2")))]
    #[case(&[("address", "socks5://p:1080"), ("username", "u"), ("password", "hunter2")], "socks5://p:1080", Some(("u", "hunter2")))]
    #[case(&[("address", "https://a:b@p"), ("username", "u")], "https://p/", Some(("u", "")))]
    #[case(&[("address", "http://p")], "http://p/", None)]
    fn proxies(
        #[case] pairs: &[(&str, &str)],
        #[case] address: &str,
        #[case] credentials: Option<(&str, &str)>,
    ) {
        let proxy = Proxy::from_secret("ns/p", &data(pairs)).unwrap();
        assert_eq!(proxy.address.as_str(), address);
        let found = proxy.credentials.as_ref().map(|(user, word)| (user.as_str(), word.expose_secret()));
        assert_eq!(found, credentials);
        assert!(!format!("{proxy:?}").contains("hunter"));
    }

    #[rstest]
    #[case(&[("tls.crt", "x")], "secret 'ns/s' contains 'tls.crt' but missing 'tls.key'")]
    #[case(&[("keyFile", "x")], "secret 'ns/s' contains 'tls.key' but missing 'tls.crt'")]
    #[case(&[("username", "x")], "secret 'ns/s' must contain either 'ca.crt' or both 'tls.crt' and 'tls.key'")]
    #[case(&[("ca.crt", "")], "secret 'ns/s' must contain either 'ca.crt' or both 'tls.crt' and 'tls.key'")]
    fn refused_certificates(#[case] pairs: &[(&str, &str)], #[case] message: &str) {
        assert_eq!(Profile::from_secret("ns/s", &data(pairs)).unwrap_err().to_string(), message);
    }

    #[test]
    fn half_of_a_certificate_beside_other_things_is_none() {
        let mut profile = Profile::default();
        profile.add_whole_tls(&data(&[("ca.crt", "ca"), ("tls.crt", "x"), ("username", "u")]));
        assert_eq!((profile.ca.as_deref(), profile.certificate.is_none()), (Some(b"ca".as_slice()), true));
    }

    #[rstest]
    #[case("http://h/", None)]
    #[case("http://u@h/", Some(("u", "")))]
    #[case("http://u:hunter%402@h/", Some(("u", "hunter@2")))]
    fn user_info_of_urls(#[case] url: &str, #[case] expected: Option<(&str, &str)>) {
        let found = user_info(&Url::parse(url).unwrap());
        assert_eq!(found.as_ref().map(|(user, word)| (user.as_str(), word.expose_secret())), expected);
    }

    #[test]
    fn new_keys_win_over_old_ones() {
        let pairs = [("ca.crt", "new"), ("caFile", "old"), ("certFile", "c"), ("keyFile", "k")];
        let profile = Profile::from_secret("ns/s", &data(&pairs)).unwrap();
        assert_eq!(profile.ca.as_deref(), Some(b"new".as_slice()));
        let ClientCertificate { chain, key } = profile.certificate.unwrap();
        assert_eq!((chain.expose_secret(), key.expose_secret()), ("c", "k"));
    }
}
