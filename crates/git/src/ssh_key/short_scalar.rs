//! Keys of the curve P-256 whose number begins with a zero byte, as one of 256 does. OpenSSH leaves this byte out, and the library takes
//! numbers of 32 bytes and more only (ssh-key 0.7).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use russh::keys::ssh_key::encoding::{Decode, Mpint};
use russh::keys::ssh_key::private::{EcdsaKeypair, KeypairData, PrivateKey};
use russh::keys::ssh_key::sec1;

/// First bytes of a file in OpenSSH's format, decoded.
const MAGIC: &[u8] = b"openssh-key-v1\0";
const BEGIN: &str = "-----BEGIN OPENSSH PRIVATE KEY-----";
const END: &str = "-----END OPENSSH PRIVATE KEY-----";
const ALGORITHM: &str = "ecdsa-sha2-nistp256";
/// Bytes of a number of this curve.
const SIZE: usize = 32;

/// Decodes a key of this kind; nothing where it is of another one, or does not open with the passphrase.
pub(super) fn decode(identity: &str, passphrase: Option<&str>) -> Option<PrivateKey> {
    let private = match PrivateKey::from_openssh(identity) {
        Ok(locked) => open(&locked, passphrase?)?,
        Err(_) => private_part(identity)?,
    };
    let mut fields = private.as_slice();
    let checks = (u32::decode(&mut fields).ok()?, u32::decode(&mut fields).ok()?);
    let algorithm = String::decode(&mut fields).ok()?;
    if checks.0 != checks.1 || algorithm != ALGORITHM {
        return None;
    }
    let _curve = String::decode(&mut fields).ok()?;
    let point = Vec::<u8>::decode(&mut fields).ok()?;
    let number = Mpint::decode(&mut fields).ok()?;
    let comment = String::decode(&mut fields).ok()?;
    let number = number.as_positive_bytes()?;
    let mut padded = [0; SIZE];
    padded.get_mut(SIZE.checked_sub(number.len())?..)?.copy_from_slice(number);
    let public = sec1::EncodedPoint::<sec1::consts::U32>::from_bytes(point).ok()?;
    let pair = EcdsaKeypair::NistP256 { public, private: padded.into() };
    PrivateKey::new(KeypairData::Ecdsa(pair), comment).ok()
}

/// Returns the private part of a key that is not encrypted: the last field, after three about the encryption, a count and the public
/// key.
fn private_part(identity: &str) -> Option<Vec<u8>> {
    let (_, text) = identity.split_once(BEGIN)?;
    let (text, _) = text.split_once(END)?;
    let text: String = text.split_whitespace().collect();
    let bytes = STANDARD.decode(text).ok()?;
    let mut fields = bytes.strip_prefix(MAGIC)?;
    let cipher = String::decode(&mut fields).ok()?;
    let _kdf = (Vec::<u8>::decode(&mut fields).ok()?, Vec::<u8>::decode(&mut fields).ok()?);
    let _count = u32::decode(&mut fields).ok()?;
    let _public = Vec::<u8>::decode(&mut fields).ok()?;
    let private = Vec::<u8>::decode(&mut fields).ok()?;
    (cipher == "none").then_some(private)
}

/// Decrypts the private part of a key; nothing where its cipher seals what it encrypts, which `ssh-keygen` does if asked for only.
fn open(locked: &PrivateKey, passphrase: &str) -> Option<Vec<u8>> {
    let cipher = locked.cipher();
    let (key, iv) = locked.kdf().derive_key_and_iv(cipher, passphrase).ok()?;
    let mut private = locked.key_data().encrypted()?.to_vec();
    cipher.decrypt(&key, &iv, &mut private, None).ok()?;
    Some(private)
}

#[cfg(test)]
mod tests {
    use russh::keys::decode_secret_key;
    use weir_testkit::Folder;

    use super::super::{IdentityError, parse_identity};

    /// Made for this test only, with `cryptography` 46: of random keys one in 256 is such a one.
    const KEY: &str = include_str!("testdata/short_scalar");
    const PASSPHRASE: &str = "correct horse";

    /// The key, encrypted by OpenSSH itself.
    fn locked() -> String {
        let folder = Folder::new("short-scalar").unwrap();
        let path = folder.write("key", KEY).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let mut command = std::process::Command::new("ssh-keygen");
        command.args(["-q", "-p", "-P", "", "-N", PASSPHRASE, "-f"]).arg(&path);
        assert!(command.stdout(std::process::Stdio::null()).status().unwrap().success());
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn its_key_is_the_one_that_openssh_reads() {
        // When the library reads it too, this file may go.
        assert!(decode_secret_key(KEY, None).is_err());
        let public = include_str!("testdata/short_scalar.pub").trim();
        for (identity, passphrase) in [(KEY, None), (locked().as_str(), Some(PASSPHRASE))] {
            let key = parse_identity(identity, passphrase).unwrap();
            assert_eq!(key.public_key().to_openssh().unwrap().trim(), public);
            assert_eq!(key.key_data().ecdsa().unwrap().private_key_bytes()[0], 0);
        }
    }

    #[test]
    fn another_passphrase_does_not_open_it() {
        let locked = locked();
        assert_eq!(parse_identity(&locked, Some("another")).unwrap_err(), IdentityError::WrongPassphrase);
        assert_eq!(parse_identity(&locked, None).unwrap_err(), IdentityError::Encrypted);
    }
}
