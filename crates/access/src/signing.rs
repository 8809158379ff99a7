//! Keys that sign the commits of automations (IU-21 to IU-23).

use jiff::Timestamp;
use weir_api::image;
use weir_git::{IdentityError, parse_identity};
use weir_verify::git::{Choice, SigningKey, SigningKeyError};

use crate::secrets::{ReadError, Secret, Secrets};

/// Entries of Secrets with OpenPGP keys.
const RING: &str = "git.asc";
const PASSPHRASE: &str = "passphrase";
/// Entries of Secrets with SSH keys: those of the Secrets for Git over SSH.
const IDENTITY: &str = "identity";
const PASSWORD: &str = "password";

/// Errors that leave an automation without the key that it has to sign with. `name` is that of the Secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SigningSecretError {
    /// There is no such Secret, or the API server does not give it.
    #[error("could not find signing key secret '{name}': {source}")]
    Secret {
        /// The Secret.
        name: String,
        /// Cause.
        source: ReadError,
    },
    /// The type of the key is none.
    #[error("unknown signing key type \"{0}\"")]
    Type(String),
    /// The Secret has no OpenPGP key.
    #[error("signing key secret '{0}' does not contain a 'git.asc' key")]
    NoRing(String),
    /// The Secret has no SSH key.
    #[error("signing key secret '{0}' does not contain an 'identity' key")]
    NoIdentity(String),
    /// The OpenPGP key cannot be used.
    #[error("could not read signing key from secret '{name}': {source}")]
    OpenPgp {
        /// The Secret.
        name: String,
        /// Cause.
        source: SigningKeyError,
    },
    /// Opening the key did not come to an end.
    #[error("could not read signing key from secret '{name}': {reason}")]
    Unfinished {
        /// The Secret.
        name: String,
        /// Cause.
        reason: String,
    },
    /// The Secret has several OpenPGP keys.
    #[error("multiple entities read from secret '{0}', could not determine which signing key to use")]
    Several(String),
    /// The key is encrypted, and the Secret has no passphrase.
    #[error("can not use passphrase protected signing key without '{entry}' field present in secret {name}")]
    Locked {
        /// The entry that is missing.
        entry: &'static str,
        /// The Secret.
        name: String,
    },
    /// The passphrase of the OpenPGP key is wrong.
    #[error("could not decrypt private key of the signing key present in secret {name}: {source}")]
    Passphrase {
        /// The Secret.
        name: String,
        /// Cause.
        source: SigningKeyError,
    },
    /// The SSH key cannot be read.
    #[error(
        "could not parse SSH signing key from secret '{name}': could not parse SSH signing key: {source}"
    )]
    Identity {
        /// The Secret.
        name: String,
        /// Cause.
        source: IdentityError,
    },
    /// The SSH key is of a kind that does not sign.
    #[error("could not parse SSH signing key from secret '{name}': {source}")]
    Ssh {
        /// The Secret.
        name: String,
        /// Cause.
        source: SigningKeyError,
    },
}

/// Type of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    OpenPgp,
    Ssh,
}

impl Secrets {
    /// Reads and opens the key that an automation of `namespace` signs with.
    ///
    /// # Errors
    /// When the Secret cannot be read, has no key of the declared type, or the key does not open.
    pub async fn signing_key(
        &self,
        namespace: &str,
        declared: &image::SigningKey,
        now: Timestamp,
    ) -> Result<SigningKey, SigningSecretError> {
        let name = declared.secret_ref.name.clone();
        let secret = self.get(namespace, &name).await;
        let secret = secret.map_err(|source| SigningSecretError::Secret { name: name.clone(), source })?;
        let kind = Kind::of(declared.type_.as_deref())?;
        let unfinished = name.clone();
        // A passphrase takes a good part of a second to check.
        let opened = tokio::task::spawn_blocking(move || kind.open(&secret, &name, now)).await;
        opened.unwrap_or_else(|error| {
            Err(SigningSecretError::Unfinished { name: unfinished, reason: error.to_string() })
        })
    }
}

impl Kind {
    fn of(declared: Option<&str>) -> Result<Self, SigningSecretError> {
        match declared.unwrap_or_default() {
            "" | "gpg" => Ok(Self::OpenPgp),
            "ssh" => Ok(Self::Ssh),
            other => Err(SigningSecretError::Type(other.to_owned())),
        }
    }

    fn open(self, secret: &Secret, name: &str, now: Timestamp) -> Result<SigningKey, SigningSecretError> {
        match self {
            Self::OpenPgp => openpgp(secret, name, now),
            Self::Ssh => ssh(secret, name),
        }
    }
}

fn openpgp(secret: &Secret, name: &str, now: Timestamp) -> Result<SigningKey, SigningSecretError> {
    let name = name.to_owned();
    let Some(ring) = secret.data.get(RING) else { return Err(SigningSecretError::NoRing(name)) };
    let passphrase = secret.data.get(PASSPHRASE).map(Vec::as_slice);
    SigningKey::openpgp(ring, Choice::Only, passphrase, now).map_err(|source| match source {
        SigningKeyError::Several => SigningSecretError::Several(name),
        SigningKeyError::Locked => SigningSecretError::Locked { entry: PASSPHRASE, name },
        SigningKeyError::Passphrase | SigningKeyError::Cost => {
            SigningSecretError::Passphrase { name, source }
        }
        source => SigningSecretError::OpenPgp { name, source },
    })
}

fn ssh(secret: &Secret, name: &str) -> Result<SigningKey, SigningSecretError> {
    let name = name.to_owned();
    let Some(identity) = secret.data.get(IDENTITY) else { return Err(SigningSecretError::NoIdentity(name)) };
    let text = |bytes: &'_ Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    let passphrase = secret.data.get(PASSWORD).filter(|passphrase| !passphrase.is_empty()).map(text);
    let key = parse_identity(&String::from_utf8_lossy(identity), passphrase.as_deref());
    let key = key.map_err(|source| match source {
        IdentityError::Encrypted => SigningSecretError::Locked { entry: PASSWORD, name: name.clone() },
        source => SigningSecretError::Identity { name: name.clone(), source },
    })?;
    SigningKey::ssh(key).map_err(|source| SigningSecretError::Ssh { name, source })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);
    /// A ring of two keys, which the passphrase "secret" opens.
    const LOCKED: &[u8] = include_bytes!("../../verify/fuzz/seeds/ring/locked");
    const SSH: &str = include_str!("../../sops/tests/data/keys/ssh_ed25519");

    fn opened(kind: Option<&str>, entries: &[(&str, &[u8])]) -> Result<SigningKey, SigningSecretError> {
        let data = entries.iter().map(|(entry, value)| ((*entry).to_owned(), value.to_vec()));
        let secret = Secret { place: "apps/key".to_owned(), data: data.collect(), ..Secret::default() };
        Kind::of(kind)?.open(&secret, "key", NOW)
    }

    /// IU-23; the declared type alone decides which entry is read.
    #[rstest]
    #[case(None, &[("identity", SSH.as_bytes())], "signing key secret 'key' does not contain a 'git.asc' key")]
    #[case(Some("ssh"), &[("git.asc", LOCKED)], "signing key secret 'key' does not contain an 'identity' key")]
    #[case(Some("x509"), &[], "unknown signing key type \"x509\"")]
    #[case(Some("gpg"), &[("git.asc", LOCKED)],
        "can not use passphrase protected signing key without 'passphrase' field present in secret key")]
    #[case(Some("gpg"), &[("git.asc", LOCKED), ("passphrase", b"wrong")],
        "could not decrypt private key of the signing key present in secret key: openpgp: invalid data: private key \
         checksum failure")]
    #[case(Some("gpg"), &[("git.asc", b"".as_slice())], "could not read signing key from secret 'key': empty GPG key ring")]
    #[case(Some("ssh"), &[("identity", b"junk".as_slice())],
        "could not parse SSH signing key from secret 'key': could not parse SSH signing key: ssh: no key found")]
    fn keys_that_do_not_sign(
        #[case] kind: Option<&str>,
        #[case] entries: &[(&str, &[u8])],
        #[case] message: &str,
    ) {
        assert_eq!(opened(kind, entries).unwrap_err().to_string(), message);
    }

    #[rstest]
    #[case(None, &[("git.asc", LOCKED), ("passphrase", b"secret")], "SigningKey(openpgp)")]
    #[case(Some("ssh"), &[("identity", SSH.as_bytes()), ("git.asc", b"junk")], "SigningKey(ssh)")]
    fn keys_that_sign(#[case] kind: Option<&str>, #[case] entries: &[(&str, &[u8])], #[case] shown: &str) {
        assert_eq!(format!("{:?}", opened(kind, entries).unwrap()), shown);
    }

    #[test]
    fn two_keys_are_one_too_many() {
        let plain: &[u8] = include_bytes!("../../verify/fuzz/seeds/ring/plain");
        let error = opened(None, &[("git.asc", &[plain, plain].concat())]).unwrap_err().to_string();
        let message =
            "multiple entities read from secret 'key', could not determine which signing key to use";
        assert_eq!(error, message);
    }

    #[test]
    fn an_encrypted_identity_needs_its_password() {
        let locked = include_str!("../../git/tests/data/locked_ed25519");
        let message =
            "can not use passphrase protected signing key without 'password' field present in secret key";
        let error = opened(Some("ssh"), &[("identity", locked.as_bytes()), ("password", b"")]);
        assert_eq!(error.unwrap_err().to_string(), message);
        let wrong = opened(Some("ssh"), &[("identity", locked.as_bytes()), ("password", b"wrong")]);
        let message = "could not parse SSH signing key from secret 'key': could not parse SSH signing key: x509: \
                       decryption password incorrect";
        assert_eq!(wrong.unwrap_err().to_string(), message);
    }
}
