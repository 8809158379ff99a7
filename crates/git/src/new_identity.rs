//! Key pairs that are made for a repository, or read for it (CLI-CRE02, CLI-SEC01).

use russh::keys::ssh_key::private::{KeypairData, RsaKeypair};
use russh::keys::ssh_key::{Algorithm, EcdsaCurve, LineEnding, PrivateKey};
use secrecy::SecretString;

use crate::ssh_key::{IdentityError, parse_identity};

/// Kind of a new key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// RSA of so many bits.
    Rsa(usize),
    /// ECDSA over P-256.
    P256,
    /// ECDSA over P-384.
    P384,
    /// ECDSA over P-521.
    P521,
    /// Ed25519.
    Ed25519,
}

/// A key pair as Secrets hold it.
#[derive(Debug, Clone)]
pub struct Identity {
    /// PEM of the private key.
    pub private: SecretString,
    /// Line for `authorized_keys`.
    pub public: String,
}

impl Identity {
    /// Makes a new key pair.
    ///
    /// # Errors
    /// When the machine has no randomness, or the key cannot be written.
    pub fn generate(kind: KeyKind) -> Result<Self, IdentityError> {
        let mut random = rand::rng();
        let ecdsa = |curve| Algorithm::Ecdsa { curve };
        let key = match kind {
            KeyKind::Rsa(bits) => RsaKeypair::random(&mut random, bits)
                .and_then(|pair| PrivateKey::new(KeypairData::Rsa(pair), "")),
            KeyKind::P256 => PrivateKey::random(&mut random, ecdsa(EcdsaCurve::NistP256)),
            KeyKind::P384 => PrivateKey::random(&mut random, ecdsa(EcdsaCurve::NistP384)),
            KeyKind::P521 => PrivateKey::random(&mut random, ecdsa(EcdsaCurve::NistP521)),
            KeyKind::Ed25519 => PrivateKey::random(&mut random, Algorithm::Ed25519),
        };
        let key = key.map_err(unusable)?;
        let private = key.to_openssh(LineEnding::LF).map_err(unusable)?;
        Ok(Self { private: SecretString::from(private.as_str()), public: public_line(&key)? })
    }

    /// Reads a private key; it is kept as it was written, encrypted keys among them.
    ///
    /// # Errors
    /// When the text is no key, or does not open with the passphrase.
    pub fn read(text: &str, passphrase: Option<&str>) -> Result<Self, IdentityError> {
        let key = parse_identity(text, passphrase)?;
        Ok(Self { private: SecretString::from(text), public: public_line(&key)? })
    }
}

fn public_line(key: &PrivateKey) -> Result<String, IdentityError> {
    let mut public = key.public_key().clone();
    public.set_comment("");
    public.to_openssh().map(|line| format!("{}\n", line.trim_end())).map_err(unusable)
}

fn unusable(error: russh::keys::ssh_key::Error) -> IdentityError {
    IdentityError::Unusable { reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[rstest::rstest]
    #[case(KeyKind::P256, "ecdsa-sha2-nistp256 ")]
    #[case(KeyKind::P384, "ecdsa-sha2-nistp384 ")]
    #[case(KeyKind::P521, "ecdsa-sha2-nistp521 ")]
    #[case(KeyKind::Ed25519, "ssh-ed25519 ")]
    #[case(KeyKind::Rsa(2048), "ssh-rsa ")]
    fn a_new_key_can_be_read_again(#[case] kind: KeyKind, #[case] start: &str) {
        let made = Identity::generate(kind).unwrap();
        assert!(made.public.starts_with(start), "{}", made.public);
        let read = Identity::read(made.private.expose_secret(), None).unwrap();
        assert_eq!(read.public, made.public);
    }
}
