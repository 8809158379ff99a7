//! The certificate that a client shows to a server, read as Go's `tls.X509KeyPair` reads it.

use rustls::Error;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use secrecy::{ExposeSecret, SecretString};

use crate::clients::ClientError;
use crate::tls;

/// Certificates of one chain that are read, of more it is refused, so that none is left out in silence; a chain has three.
const MAX_CHAIN: usize = 1000;
/// Go's words about a private key that it does not understand.
const UNREADABLE_KEY: &str = "failed to parse private key";

/// A certificate with its chain, and its key: PEM of a file each. Blocks that cannot be read, or are of another kind, are passed over.
#[derive(Debug, Clone)]
pub struct ClientCertificate {
    /// The certificate and those that vouch for it. A secret, since people put the key here too.
    pub chain: SecretString,
    /// The private key of the certificate.
    pub key: SecretString,
}

/// The parts of a [`ClientCertificate`] once they are read.
pub(crate) type Pair = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

impl ClientCertificate {
    /// Returns the certificate of two PEM texts, which are not read yet.
    pub fn new(chain: impl Into<SecretString>, key: impl Into<SecretString>) -> Self {
        Self { chain: chain.into(), key: key.into() }
    }

    /// Checks that it can be shown to a server.
    ///
    /// # Errors
    /// When there is no certificate or no key, or they do not belong together.
    pub fn check(&self) -> Result<(), ClientError> {
        tls::config(tls::Trust::default(), Some(self.pair()?)).map(drop).map_err(|source| unusable(&source))
    }

    /// Reads both.
    pub(crate) fn pair(&self) -> Result<Pair, ClientError> {
        let key = PrivateKeyDer::pem_slice_iter(self.key.expose_secret().as_bytes()).flatten().next();
        Ok((self.certificates()?, key.ok_or_else(|| refuse(&no_key(self.key.expose_secret())))?))
    }

    fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, ClientError> {
        let text = self.chain.expose_secret();
        let readable = CertificateDer::pem_slice_iter(text.as_bytes()).flatten();
        let chain: Vec<_> = readable.take(MAX_CHAIN + 1).collect();
        match chain.len() {
            0 => Err(refuse(&no_certificate(text))),
            1..=MAX_CHAIN => Ok(chain),
            _ => Err(refuse(&format!("more than {MAX_CHAIN} certificates"))),
        }
    }
}

/// A certificate that cannot be used with its key, in Go's words.
pub(crate) fn unusable(error: &Error) -> ClientError {
    match error {
        Error::InconsistentKeys(_) => refuse("private key does not match public key"),
        // The library says so of keys alone.
        Error::General(_) => refuse(UNREADABLE_KEY),
        _ => refuse(&error.to_string()),
    }
}

fn refuse(reason: &str) -> ClientError {
    ClientError::Identity { reason: format!("tls: {reason}") }
}

/// Tells what stands where a certificate should.
fn no_certificate(text: &str) -> String {
    let others: Vec<_> = kinds(text).filter(|kind| *kind != "CERTIFICATE").collect();
    match others[..] {
        [] => "failed to find any PEM data in certificate input".to_owned(),
        [kind] if kind.ends_with("PRIVATE KEY") => {
            "failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched"
                .to_owned()
        }
        _ => format!(
            "failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of the following types: [{}]",
            others.join(" ")
        ),
    }
}

/// Tells what stands where a private key should.
fn no_key(text: &str) -> String {
    let found: Vec<_> = kinds(text).collect();
    // An encrypted key, or one of OpenSSH.
    if found.iter().any(|kind| kind.ends_with("PRIVATE KEY")) {
        return UNREADABLE_KEY.to_owned();
    }
    match found[..] {
        [] => "failed to find any PEM data in key input".to_owned(),
        ["CERTIFICATE"] => "found a certificate rather than a key in the PEM for the private key".to_owned(),
        _ => format!(
            "failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM blocks of the following types: [{}]",
            found.join(" ")
        ),
    }
}

/// The kinds of the PEM blocks, as they come.
fn kinds(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.trim().strip_prefix("-----BEGIN ")?.strip_suffix("-----"))
}
