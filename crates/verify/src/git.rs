//! Signatures of Git commits and tags: verdicts about them (SRC-GIT-22…25), and the keys that make them (IU-21, IU-22).

mod openpgp;
mod signing_key;
mod ssh;

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;

pub use self::openpgp::OpenPgpError;
pub use self::signing_key::{Choice, SigningError, SigningKey, SigningKeyError};
pub use self::ssh::SshError;

/// End of the keys of a Secret whose values are SSH public keys. The values of all others are OpenPGP key rings.
const SSH_SUFFIX: &str = ".sshpub";
/// Bytes of a signature. One of RSA with 16384 bits has 3 KiB.
const MAX_SIGNATURE_BYTES: usize = 64 * 1024;
/// First bytes of signatures, and the kind of each.
const ARMOUR: [(&[u8], SignatureType); 3] = [
    (b"-----BEGIN PGP SIGNATURE-----", SignatureType::OpenPgp),
    (b"-----BEGIN SSH SIGNATURE-----", SignatureType::Ssh),
    (b"-----BEGIN SIGNED MESSAGE-----", SignatureType::X509),
];

/// The kind of the signed object, as messages name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Object {
    /// A commit.
    Commit,
    /// An annotated tag.
    Tag,
}

/// The maker of a signature, seen by its armour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureType {
    /// OpenPGP.
    OpenPgp,
    /// SSH.
    Ssh,
    /// S/MIME, which is not checked.
    X509,
    /// There is none.
    Empty,
    /// Nothing that Git makes.
    Unknown,
}

/// Faults of a signature.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// Signed with OpenPGP, and only SSH keys are trusted.
    #[error("PGP signature detected but no PGP public keys found in secret (keys with .asc suffix)")]
    NoOpenPgpKeys,
    /// Signed with SSH, and only OpenPGP keys are trusted.
    #[error("SSH signature detected but no SSH public keys found in secret (keys with .sshpub suffix)")]
    NoSshKeys,
    /// Not signed, or in a way that is not checked.
    #[error("unsupported signature type: {kind}")]
    Unsupported {
        /// The signature's type.
        kind: SignatureType,
    },
    /// An OpenPGP signature of nobody who is trusted.
    #[error("unable to verify Git {object}: {source}")]
    OpenPgp {
        /// The kind of the signed object.
        object: Object,
        /// Cause.
        source: OpenPgpError,
    },
    /// An SSH signature of nobody who is trusted.
    #[error("unable to verify Git {object} SSH signature: {source}")]
    Ssh {
        /// The kind of the signed object.
        object: Object,
        /// Cause.
        source: SshError,
    },
}

/// The public keys that are trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitKeys {
    openpgp: Vec<Vec<u8>>,
    ssh: Vec<Vec<u8>>,
}

impl GitKeys {
    /// Returns the keys of a Secret (SRC-GIT-23). A value that is no key is found only when a signature is checked.
    #[must_use]
    pub fn from_secret(data: &BTreeMap<String, Vec<u8>>) -> Self {
        let mut keys = Self::default();
        for (name, value) in data {
            let kind = if name.ends_with(SSH_SUFFIX) { &mut keys.ssh } else { &mut keys.openpgp };
            kind.push(value.clone());
        }
        keys
    }

    /// Checks the signature of an object's bytes and returns the name of the key that made it: the id of an OpenPGP
    /// primary key, or the fingerprint of an SSH key (SRC-GIT-24). `now` decides what is expired.
    ///
    /// # Errors
    /// When there is no signature, none of the keys made it over these bytes, or the key must not be used any more.
    pub fn verify(
        &self,
        object: Object,
        payload: &[u8],
        signature: Option<&[u8]>,
        now: Timestamp,
    ) -> Result<String, GitError> {
        let signature = signature.unwrap_or_default();
        match SignatureType::of(signature) {
            SignatureType::OpenPgp if self.openpgp.is_empty() => Err(GitError::NoOpenPgpKeys),
            SignatureType::OpenPgp => openpgp::verify(payload, signature, &self.openpgp, now)
                .map_err(|source| GitError::OpenPgp { object, source }),
            SignatureType::Ssh if self.ssh.is_empty() => Err(GitError::NoSshKeys),
            SignatureType::Ssh => {
                ssh::verify(payload, signature, &self.ssh).map_err(|source| GitError::Ssh { object, source })
            }
            kind => Err(GitError::Unsupported { kind }),
        }
    }
}

impl SignatureType {
    fn of(signature: &[u8]) -> Self {
        if signature.is_empty() {
            return Self::Empty;
        }
        let text = signature.trim_ascii_start();
        let found = ARMOUR.iter().find(|(armour, _)| text.starts_with(armour));
        match found {
            Some((_, kind)) if signature.len() <= MAX_SIGNATURE_BYTES => *kind,
            _ => Self::Unknown,
        }
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Commit => "commit",
            Self::Tag => "tag",
        })
    }
}

impl fmt::Display for SignatureType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OpenPgp => "openpgp",
            Self::Ssh => "ssh",
            Self::X509 => "x509",
            Self::Empty => "empty",
            Self::Unknown => "unknown",
        })
    }
}
