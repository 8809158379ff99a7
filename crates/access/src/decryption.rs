//! The keys that a Kustomization decrypts with (KS-DEC-1 to KS-DEC-3).

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use weir_auth::{Credentials, KeyLogin, KeyLoginError};
use weir_kms::Held;
use weir_sops::{IdentityError, Keyring, OpenPgpError};

use crate::secrets::{ReadError, Secret, Secrets};

/// Ends of the names of entries with age identities, and with OpenPGP keys.
const AGE: &str = ".agekey";
const PGP: &str = ".asc";
const VAULT: &str = "sops.vault-token";
const AWS: &str = "sops.aws-kms";
const AZURE: &str = "sops.azure-kv";
const GCP: &str = "sops.gcp-kms";

/// Keys and credentials for decryption. Nothing of them is shown.
#[derive(Default)]
pub struct DecryptionKeys {
    /// Keys at hand.
    pub keyring: Keyring,
    /// Credentials for servers that keep keys.
    pub held: Held,
    /// A number that differs when the Secret does.
    pub fingerprint: u64,
}

/// For whom a Secret holds keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeysFor {
    /// The Kustomization that names it.
    One,
    /// All Kustomizations; only age identities count in it (KS-DEC-3).
    All,
}

impl fmt::Display for KeysFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::One => "sops decryption Secret",
            Self::All => "sops SOPS age decryption Secret",
        })
    }
}

/// Errors of reading keys.
#[derive(Debug, thiserror::Error)]
pub enum DecryptionKeysError {
    /// There is no such Secret.
    #[error("{0}")]
    Missing(ReadError),
    /// The API server does not give it.
    #[error("cannot get {holds} '{}': {source}", .source.place)]
    Read {
        /// For whom it is.
        holds: KeysFor,
        /// Cause.
        source: ReadError,
    },
    /// An entry is no key.
    #[error("failed to import '{entry}' data from {holds} '{place}': {source}")]
    Import {
        /// For whom the Secret is.
        holds: KeysFor,
        /// The entry.
        entry: String,
        /// `namespace/name` of the Secret.
        place: String,
        /// Cause.
        source: ImportError,
    },
}

/// Errors of one entry.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// age.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// OpenPGP.
    #[error(transparent)]
    OpenPgp(#[from] OpenPgpError),
    /// Credentials of a cloud.
    #[error(transparent)]
    Cloud(#[from] KeyLoginError),
    /// No text.
    #[error("the entry is no UTF-8 text")]
    Utf8,
}

impl DecryptionKeys {
    /// Reads the keys of a Secret.
    ///
    /// # Errors
    /// The Secret cannot be read, or an entry is none of what its name says.
    pub async fn read(
        secrets: &Secrets,
        namespace: &str,
        name: &str,
        holds: KeysFor,
    ) -> Result<Self, DecryptionKeysError> {
        let secret = secrets.get(namespace, name).await.map_err(|error| match error.is_not_found {
            true => DecryptionKeysError::Missing(error),
            false => DecryptionKeysError::Read { holds, source: error },
        })?;
        Self::of(&secret, holds)
    }

    fn of(secret: &Secret, holds: KeysFor) -> Result<Self, DecryptionKeysError> {
        let mut hasher = DefaultHasher::new();
        secret.data.hash(&mut hasher);
        let mut keys = Self { fingerprint: hasher.finish(), ..Self::default() };
        for (entry, value) in &secret.data {
            keys.import(entry, value, holds).map_err(|source| DecryptionKeysError::Import {
                holds,
                entry: entry.clone(),
                place: secret.place.clone(),
                source,
            })?;
        }
        Ok(keys)
    }

    /// Entries with other names are ignored (KS-DEC-2).
    fn import(&mut self, entry: &str, value: &[u8], holds: KeysFor) -> Result<(), ImportError> {
        let text = || std::str::from_utf8(value).map_err(|_| ImportError::Utf8);
        if entry.ends_with(AGE) {
            return Ok(self.keyring.identities.add(text()?)?);
        }
        if holds == KeysFor::All {
            return Ok(());
        }
        if entry.ends_with(PGP) {
            return Ok(self.keyring.pgp.add(value)?);
        }
        match entry {
            VAULT => self.held.vault = Some(text()?.trim().to_owned().into()),
            AWS => self.held.aws = Some(Credentials::aws(value)?),
            AZURE => self.held.azure = Some(KeyLogin::azure(value)?),
            GCP => self.held.gcp = Some(KeyLogin::gcp(value)?),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn secret(entries: &[(&str, &str)]) -> Secret {
        let data = entries.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()));
        Secret { place: "apps/keys".to_owned(), data: data.collect(), ..Secret::default() }
    }

    /// KS-DEC-2
    #[test]
    fn entries_by_their_names() {
        let identity = include_str!("../../sops/tests/data/keys/age.agekey");
        let pgp = include_str!("../../sops/tests/data/keys/pgp.asc");
        let entries =
            [("a.agekey", identity), ("b.asc", pgp), ("sops.vault-token", " s.x\n"), ("readme", "not a key")];
        let keys = DecryptionKeys::of(&secret(&entries), KeysFor::One).unwrap();
        assert!(
            !keys.keyring.identities.is_empty() && !keys.keyring.pgp.is_empty() && keys.held.vault.is_some()
        );
        let keys = DecryptionKeys::of(&secret(&entries), KeysFor::All).unwrap();
        assert!(
            !keys.keyring.identities.is_empty() && keys.keyring.pgp.is_empty() && keys.held.vault.is_none()
        );
    }

    #[rstest]
    #[case("a.agekey", "failed to parse and add to age identities: unknown identity type (line 1)")]
    #[case(
        "sops.aws-kms",
        "failed to unmarshal AWS credentials file: it is no YAML with texts for its fields"
    )]
    #[case(
        "sops.azure-kv",
        "failed to unmarshal Azure authentication file: it is no YAML or JSON with texts for its fields"
    )]
    #[case("sops.gcp-kms", "it is not a JSON service account key")]
    fn an_entry_that_is_no_key(#[case] entry: &str, #[case] reason: &str) {
        let error = |holds| {
            DecryptionKeys::of(&secret(&[(entry, "hunter2")]), holds).err().map(|error| error.to_string())
        };
        let expected =
            format!("failed to import '{entry}' data from sops decryption Secret 'apps/keys': {reason}");
        assert_eq!(error(KeysFor::One).as_deref(), Some(&*expected));
        let of_all = (entry == "a.agekey").then(|| expected.replace("sops dec", "sops SOPS age dec"));
        assert_eq!(error(KeysFor::All), of_all);
    }
}
