//! The data key: the one key that all values of a document are encrypted with.

use std::fmt;

use zeroize::Zeroizing;

use crate::error::KeyError;
use crate::identity::Identities;
use crate::master_key::MasterKey;
use crate::metadata::{KeyGroup, Metadata};
use crate::openpgp::SecretKeys;
use crate::{report, shamir};

/// Bytes of a data key.
const LENGTH: usize = 32;
/// Characters of the reason of one key that go into an error.
const MAX_REASON: usize = 512;

/// A data key. `Debug` does not show it.
#[derive(Clone)]
pub struct DataKey(Zeroizing<[u8; LENGTH]>);

impl fmt::Debug for DataKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DataKey")
    }
}

impl DataKey {
    /// Makes a random key.
    #[must_use]
    pub fn generate() -> Self {
        Self(Zeroizing::new(rand::random()))
    }

    /// Takes the bytes of a key.
    ///
    /// # Errors
    /// Other than 32 bytes.
    pub fn new(bytes: &[u8]) -> Result<Self, KeyError> {
        let bytes: [u8; LENGTH] = bytes.try_into().map_err(|_| KeyError::Length(bytes.len()))?;
        Ok(Self(Zeroizing::new(bytes)))
    }

    /// Returns the bytes, for a key service to encrypt.
    #[must_use]
    pub fn bytes(&self) -> &[u8; LENGTH] {
        &self.0
    }
}

/// Decrypts data keys. Called where blocking is allowed.
pub trait KeyService {
    /// Returns what `key` holds: the data key or a share of it.
    ///
    /// # Errors
    /// A reason for people, without secrets.
    fn decrypt(&self, key: &MasterKey) -> Result<Zeroizing<Vec<u8>>, String>;
}

/// Keys at hand.
#[derive(Default)]
pub struct Keyring {
    /// age identities and SSH keys.
    pub identities: Identities,
    /// OpenPGP keys.
    pub pgp: SecretKeys,
}

impl KeyService for Keyring {
    fn decrypt(&self, key: &MasterKey) -> Result<Zeroizing<Vec<u8>>, String> {
        match key {
            MasterKey::Age { enc, .. } => self.identities.decrypt(enc).map_err(|error| error.to_string()),
            MasterKey::Pgp { enc, .. } => self.pgp.decrypt(enc).map_err(|error| error.to_string()),
            MasterKey::HuaweiKms { .. } => Err("keys of Huawei Cloud are not supported".to_owned()),
            _ => Err("no client for this key service".to_owned()),
        }
    }
}

/// Gets the data key: of each group, from the first key that works (KS-SOPS-4).
pub(crate) fn recover(metadata: &Metadata, service: &dyn KeyService) -> Result<DataKey, KeyError> {
    let results: Vec<Result<Zeroizing<Vec<u8>>, Vec<String>>> =
        metadata.groups.iter().map(|group| part(group, service)).collect();
    let is_single = results.len() == 1;
    let needed = if is_single { 1 } else { metadata.shamir_threshold.max(1) };
    let found = results.iter().flatten().count();
    if found < needed {
        let needed = if is_single { 0 } else { metadata.shamir_threshold };
        let failed = results.iter().map(|result| result.as_ref().err().map(Vec::as_slice)).enumerate();
        let groups: Vec<String> = failed.map(|(index, failed)| report::group(index, failed)).collect();
        return Err(KeyError::NotEnough { needed, found, groups: groups.join("\n\n") });
    }
    let parts: Vec<_> = results.into_iter().flatten().collect();
    match parts.as_slice() {
        [only] if is_single => DataKey::new(only),
        shares => DataKey::new(&shamir::combine(shares)?),
    }
}

/// Gets the part of a group, or the report of each of its keys.
fn part(group: &KeyGroup, service: &dyn KeyService) -> Result<Zeroizing<Vec<u8>>, Vec<String>> {
    let mut keys: Vec<&MasterKey> = group.iter().collect();
    // Stable: of the same kind, the order of the file.
    keys.sort_by_key(|key| key.order());
    let mut failures = Vec::new();
    for key in keys {
        match service.decrypt(key) {
            Ok(part) => return Ok(part),
            Err(reason) => {
                let reason: String = reason.chars().take(MAX_REASON).collect();
                failures.push(report::key(&key.to_string(), &reason));
            }
        }
    }
    Err(failures)
}
