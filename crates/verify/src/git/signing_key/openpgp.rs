//! Detached signatures of OpenPGP keys (`gpg --detach-sign --armor`).

use jiff::Timestamp;
use pgp::composed::{
    ArmorOptions, DetachedSignature, PublicOrSecret, SignedPublicKey, SignedSecretKey, SignedSecretSubKey,
};
use pgp::errors::Error;
use pgp::packet::{SecretKey, SecretSubkey, SignatureConfig, SignatureType, Subpacket, SubpacketData};
use pgp::types::{
    KeyDetails, KeyVersion, Password, S2kParams, SecretParams, SigningKey, StringToKey,
    Timestamp as OpenPgpTimestamp,
};

use super::{Choice, SigningKeyError};
use crate::git::openpgp::may_sign_at;

/// Bytes of a key ring. One key with photographs has some hundred KiB; whole rings are exported for a bootstrap.
const MAX_RING_BYTES: usize = 16 << 20;
/// Keys of one ring that are looked at.
const MAX_KEYS: usize = 1000;
/// Subkeys of one key that are looked at. Each costs some signature checks.
const MAX_SUBKEYS: usize = 100;
/// Largest memory that a passphrase may take to check, as a power of two in KiB (64 MiB), and the passes over it.
const MAX_ARGON2: (u8, u8) = (16, 8);
/// Hexadecimal digits of a key's id.
const ID_DIGITS: usize = 16;
/// Bit that the first byte of unarmoured OpenPGP has.
const BINARY: u8 = 0x80;

/// The part of a key that signs, opened.
pub(super) enum Part {
    Primary(Box<SecretKey>),
    Subkey(Box<SecretSubkey>),
}

/// Opens the chosen key.
pub(super) fn open(
    ring: &[u8],
    choice: Choice<'_>,
    passphrase: Option<&[u8]>,
    now: Timestamp,
) -> Result<Part, SigningKeyError> {
    let key = chosen(read(ring)?, choice)?;
    let mut part = signing_part(&key, now.as_second()).ok_or(SigningKeyError::NoneSigns)?;
    if let SecretParams::Encrypted(locked) = part.secret_params() {
        check_cost(locked.string_to_key_params())?;
        let passphrase = Password::from(passphrase.ok_or(SigningKeyError::Locked)?);
        part.remove_password(&passphrase).map_err(|_| SigningKeyError::Passphrase)?;
    }
    Ok(part)
}

fn read(ring: &[u8]) -> Result<Vec<PublicOrSecret>, SigningKeyError> {
    if ring.len() > MAX_RING_BYTES {
        return Err(SigningKeyError::Unreadable(format!("larger than {MAX_RING_BYTES} bytes")));
    }
    let unreadable = |error: Error| SigningKeyError::Unreadable(reason(&error));
    let is_binary = ring.first().is_some_and(|first| first & BINARY != 0);
    let keys = match is_binary {
        true => PublicOrSecret::from_bytes_many(ring).map_err(unreadable)?,
        false if ring.trim_ascii().is_empty() => return Err(SigningKeyError::Empty),
        false => PublicOrSecret::from_armor_many_buf(ring.trim_ascii()).map_err(unreadable)?.0,
    };
    keys.take(MAX_KEYS).collect::<Result<_, _>>().map_err(unreadable)
}

fn chosen(keys: Vec<PublicOrSecret>, choice: Choice<'_>) -> Result<SignedSecretKey, SigningKeyError> {
    if keys.is_empty() {
        return Err(SigningKeyError::Empty);
    }
    let found = match choice {
        Choice::Only if keys.len() > 1 => return Err(SigningKeyError::Several),
        Choice::Only | Choice::First => keys.into_iter().find_map(secret),
        Choice::Id(text) => {
            let id = text.strip_prefix("0x").unwrap_or(text).to_uppercase();
            if id.len() != ID_DIGITS || !id.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(SigningKeyError::KeyId(text.to_owned()));
            }
            // The private part of a key may stand behind its public one.
            let named: Vec<_> = keys.into_iter().filter(|key| id_of(key) == id).collect();
            if named.is_empty() {
                return Err(SigningKeyError::NoSuchKey(id));
            }
            named.into_iter().find_map(secret)
        }
    };
    found.ok_or(SigningKeyError::Public)
}

fn secret(key: PublicOrSecret) -> Option<SignedSecretKey> {
    match key {
        PublicOrSecret::Secret(key) => Some(key),
        PublicOrSecret::Public(_) => None,
    }
}

fn id_of(key: &PublicOrSecret) -> String {
    let id = match key {
        PublicOrSecret::Secret(key) => key.primary_key.legacy_key_id(),
        PublicOrSecret::Public(key) => key.primary_key.legacy_key_id(),
    };
    crate::git::openpgp::hex(id.as_ref())
}

/// Returns the newest subkey that may sign, or else the primary key if it may.
fn signing_part(key: &SignedSecretKey, at: i64) -> Option<Part> {
    let public = key.to_public_key();
    let may_sign = |subkey: &&SignedSecretSubKey| {
        is_usable(&subkey.key, subkey.key.secret_params())
            && may_sign_at(&public, Some(&subkey.signed_public_key()), at)
    };
    let subkeys = key.secret_subkeys.iter().take(MAX_SUBKEYS).filter(may_sign);
    if let Some(newest) = subkeys.max_by_key(|subkey| subkey.key.created_at().as_secs()) {
        return Some(Part::Subkey(Box::new(newest.key.clone())));
    }
    primary(key, &public, at)
}

fn primary(key: &SignedSecretKey, public: &SignedPublicKey, at: i64) -> Option<Part> {
    let own = &key.primary_key;
    let may_sign = is_usable(own, own.secret_params()) && may_sign_at(public, None, at);
    may_sign.then(|| Part::Primary(Box::new(own.clone())))
}

/// Returns true when the private part is here, and not on a card or left out of the export, in a version that is known.
fn is_usable(key: &impl KeyDetails, secret: &SecretParams) -> bool {
    let is_elsewhere = match secret {
        SecretParams::Plain(_) => false,
        SecretParams::Encrypted(locked) => {
            matches!(protection(locked.string_to_key_params()), Some(StringToKey::Private { .. }))
        }
    };
    key.version() == KeyVersion::V4 && !is_elsewhere
}

fn protection(parameters: &S2kParams) -> Option<&StringToKey> {
    match parameters {
        S2kParams::Aead { s2k, .. } | S2kParams::Cfb { s2k, .. } | S2kParams::MalleableCfb { s2k, .. } => {
            Some(s2k)
        }
        S2kParams::Unprotected | S2kParams::LegacyCfb { .. } => None,
    }
}

/// Refuses parameters of Argon2 with which a passphrase takes the memory of the whole machine.
fn check_cost(parameters: &S2kParams) -> Result<(), SigningKeyError> {
    let (memory, passes) = MAX_ARGON2;
    match protection(parameters) {
        Some(StringToKey::Argon2 { t, m_enc, .. }) if *m_enc > memory || *t > passes => {
            Err(SigningKeyError::Cost)
        }
        _ => Ok(()),
    }
}

impl Part {
    fn secret_params(&self) -> &SecretParams {
        match self {
            Self::Primary(key) => key.secret_params(),
            Self::Subkey(key) => key.secret_params(),
        }
    }

    fn remove_password(&mut self, passphrase: &Password) -> Result<(), Error> {
        match self {
            Self::Primary(key) => key.remove_password(passphrase),
            Self::Subkey(key) => key.remove_password(passphrase),
        }
    }

    /// Returns the armoured signature over the payload.
    pub(super) fn sign(&self, payload: &[u8], now: Timestamp) -> Result<String, Error> {
        match self {
            Self::Primary(key) => detached(&**key, payload, now),
            Self::Subkey(key) => detached(&**key, payload, now),
        }
    }
}

fn detached(key: &impl SigningKey, payload: &[u8], now: Timestamp) -> Result<String, Error> {
    let made = OpenPgpTimestamp::from_secs(u32::try_from(now.as_second()).unwrap_or(u32::MAX));
    let mut config = SignatureConfig::v4(SignatureType::Binary, key.algorithm(), key.hash_alg());
    config.hashed_subpackets = vec![
        Subpacket::regular(SubpacketData::IssuerFingerprint(key.fingerprint()))?,
        Subpacket::regular(SubpacketData::SignatureCreationTime(made))?,
    ];
    config.unhashed_subpackets = vec![Subpacket::regular(SubpacketData::IssuerKeyId(key.legacy_key_id()))?];
    let signature = config.sign(key, &Password::empty(), payload)?;
    DetachedSignature::new(signature).to_armored_string(ArmorOptions::default())
}

/// Returns the first line of an error: the library puts a backtrace behind it.
pub(super) fn reason(error: &Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
