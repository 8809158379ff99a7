//! The settings that make two HTTP clients different from each other.

use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use url::Url;

use crate::{ClientCertificate, told_by_basic};

/// TLS material and proxy for a server. The default is the system's trust store and the environment's proxies.
#[derive(Debug, Clone, Default)]
pub struct Profile {
    /// PEM of certificate authorities that are trusted beside those of the system (SRC-TLS-1).
    pub ca: Option<Vec<u8>>,
    /// True when `ca`, where it is given, is trusted alone, without the authorities of the system (NTF-49).
    pub ca_alone: bool,
    /// Name that the server's certificate must be for, in place of the URL's host. The server is still told the host (SNI).
    pub server_name: Option<String>,
    /// The certificate that is shown to servers that ask for one.
    pub certificate: Option<ClientCertificate>,
    /// The way to the server.
    pub proxy: Option<Proxy>,
    /// True when any certificate is accepted: only an `OCIRepository` with `insecure` may ask for it (SRC-OCI-20).
    pub accept_invalid_certificates: bool,
    /// True when bodies that say that they are compressed are left as they are: content of buckets is.
    pub keep_encoding: bool,
    /// True when bodies of requests are secrets, as those for tokens: a redirect to another server, which would have
    /// them repeated there, is refused (SRC-SCK-7).
    pub secret_bodies: bool,
}

/// A proxy of one object (SRC-PRX-1).
#[derive(Debug, Clone)]
pub struct Proxy {
    /// `http`, `https` or `socks5` URL without user info.
    pub address: Url,
    /// User and password.
    pub credentials: Option<(String, SecretString)>,
}

impl Proxy {
    /// Returns the secrets that the proxy gets and may repeat (SRC-SCK-11).
    #[must_use]
    pub fn told(&self) -> Vec<SecretString> {
        let told = self.credentials.as_ref().map(|(user, password)| told_by_basic(user, password));
        told.unwrap_or_default()
    }
}

impl Profile {
    /// A key that is equal exactly for profiles that may share clients and tokens. It does not give its secrets away.
    #[must_use]
    pub fn key(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        let mut part = |bytes: Option<&[u8]>| {
            // Length and presence go in too, so that no two profiles run together.
            hash.update(bytes.map_or(u64::MAX, |bytes| bytes.len() as u64).to_le_bytes());
            hash.update(bytes.unwrap_or_default());
        };
        part(self.ca.as_deref());
        part(self.server_name.as_ref().map(String::as_bytes));
        let certificate = self.certificate.as_ref();
        part(certificate.map(|certificate| certificate.chain.expose_secret().as_bytes()));
        part(certificate.map(|certificate| certificate.key.expose_secret().as_bytes()));
        part(self.proxy.as_ref().map(|proxy| proxy.address.as_str().as_bytes()));
        let credentials = self.proxy.as_ref().and_then(|proxy| proxy.credentials.as_ref());
        part(credentials.map(|(user, _)| user.as_bytes()));
        part(credentials.map(|(_, password)| password.expose_secret().as_bytes()));
        let switches =
            [self.ca_alone, self.accept_invalid_certificates, self.keep_encoding, self.secret_bodies];
        part(Some(&switches.map(u8::from)));
        hash.finalize().into()
    }
}
