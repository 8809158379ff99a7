//! The errors of a certificate for a login, and the caps that they name.

/// Bytes of a file: a key and a long chain have less than half of it.
pub(crate) const MAX_FILE: usize = 64 * 1024;
/// Certificates of a file.
pub(crate) const MAX_CHAIN: usize = 10;

/// Errors in a certificate for a login. Nothing of it is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// More bytes than the cap.
    #[error("the file is larger than {MAX_FILE} bytes")]
    TooLarge,
    /// It starts as PEM and goes on otherwise.
    #[error("the file is malformed PEM")]
    Pem,
    /// It is neither PEM nor what the password opens.
    #[error("the file is neither PEM nor PKCS#12, or its password is another")]
    Pkcs12,
    /// Its key is encrypted in a way that may ask for much memory.
    #[error("the file uses scrypt, which is not supported")]
    Scrypt,
    /// More certificates than the cap.
    #[error("the file holds more than {MAX_CHAIN} certificates")]
    TooManyCertificates,
    /// There is no key that can be read.
    #[error("found no private key that can be read; encrypted ones must be in PKCS#12")]
    NoKey,
    /// There are several keys.
    #[error("found more than one private key")]
    SeveralKeys,
    /// The key is of another kind.
    #[error("the private key is no RSA key")]
    NoRsaKey,
    /// The key goes with none of the certificates.
    #[error("found no certificate of the private key")]
    NoCertificate,
    /// The library failed.
    #[error("the file could not be opened")]
    Failed,
}
