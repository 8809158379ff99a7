//! The algorithms that are offered to SSH servers (`--ssh-kex-algos`, `--ssh-hostkey-algos`).

use std::borrow::Cow;

use russh::kex::{self, Name};
use russh::keys::Algorithm;
use russh::{Preferred, cipher, mac};

/// Key exchanges that are offered where the flag names none, the preferred one first: those of Go's client, which are Flux's,
/// and of OpenSSH. Servers in FIPS mode know the curves of NIST alone, old ones SHA-1. Groups that the server picks come late:
/// they are large and slow.
const KEX: [Name; 15] = [
    kex::MLKEM768X25519_SHA256,
    kex::CURVE25519,
    kex::CURVE25519_PRE_RFC_8731,
    kex::ECDH_SHA2_NISTP256,
    kex::ECDH_SHA2_NISTP384,
    kex::ECDH_SHA2_NISTP521,
    kex::DH_G14_SHA256,
    kex::DH_G15_SHA512,
    kex::DH_G16_SHA512,
    kex::DH_G17_SHA512,
    kex::DH_G18_SHA512,
    kex::DH_GEX_SHA256,
    kex::DH_G14_SHA1,
    EXTENSIONS[0],
    EXTENSIONS[1],
];
/// No key exchanges, but sent in the same list: RSA keys may sign with SHA-2, and no handshake is truncated.
const EXTENSIONS: [Name; 2] = [kex::EXTENSION_SUPPORT_AS_CLIENT, kex::EXTENSION_OPENSSH_STRICT_KEX_AS_CLIENT];
/// Ciphers that are offered, the preferred one first.
const CIPHERS: [cipher::Name; 6] = [
    cipher::CHACHA20_POLY1305,
    cipher::AES_256_GCM,
    cipher::AES_128_GCM,
    cipher::AES_256_CTR,
    cipher::AES_192_CTR,
    cipher::AES_128_CTR,
];
/// Checksums that are offered, the preferred one first.
const MACS: [mac::Name; 5] =
    [mac::HMAC_SHA512_ETM, mac::HMAC_SHA256_ETM, mac::HMAC_SHA512, mac::HMAC_SHA256, mac::HMAC_SHA1];

/// Returns the algorithms that are offered to a server of which nothing is known.
pub(crate) fn preferred() -> Preferred {
    Preferred {
        kex: Cow::Borrowed(&KEX),
        cipher: Cow::Borrowed(&CIPHERS),
        mac: Cow::Borrowed(&MACS),
        ..Preferred::DEFAULT
    }
}

/// Algorithms by the names of the SSH protocol. Empty lists leave the choice to this crate, and that of host keys to
/// `known_hosts`.
#[derive(Debug, Clone, Default)]
pub struct SshAlgorithms {
    /// Key exchange, the preferred one first.
    pub(crate) kex: Vec<Name>,
    /// Keys that hosts may prove themselves with.
    pub(crate) host_keys: Vec<Algorithm>,
}

/// A list of which nothing is known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("none of the SSH algorithms '{given}' for --{flag} is known")]
pub struct AlgorithmsError {
    given: String,
    flag: &'static str,
}

impl SshAlgorithms {
    /// The algorithms of both flags. A name that is not known is left out with a warning, so that a list made for other
    /// versions goes on working as far as it can.
    ///
    /// # Errors
    /// When nothing of a list is known: everything would be refused.
    pub fn parse(kex: &[String], host_keys: &[String]) -> Result<Self, AlgorithmsError> {
        let mut kex = known("ssh-kex-algos", kex, |name| Name::try_from(name).ok())?;
        if !kex.is_empty() {
            kex.extend(EXTENSIONS);
        }
        let named = |name: &str| name.parse().ok().filter(|found| !matches!(found, Algorithm::Other(_)));
        Ok(Self { kex, host_keys: known("ssh-hostkey-algos", host_keys, named)? })
    }
}

fn known<T>(
    flag: &'static str,
    names: &[String],
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, AlgorithmsError> {
    let mut found = Vec::with_capacity(names.len());
    for name in names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
        match parse(name) {
            Some(algorithm) => found.push(algorithm),
            None => tracing::warn!(flag, name, "SSH algorithm is not known and left out"),
        }
    }
    let is_asked = names.iter().any(|name| !name.trim().is_empty());
    if found.is_empty() && is_asked {
        return Err(AlgorithmsError { given: names.join(","), flag });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn known_names_in_their_order() {
        let kex = owned(&["ecdh-sha2-nistp256", "made-up", "curve25519-sha256"]);
        let keys = owned(&["rsa-sha2-512", "ssh-ed25519", "ecdsa-sha2-nistp256"]);
        let algorithms = SshAlgorithms::parse(&kex, &keys).unwrap();
        let names: Vec<&str> = algorithms.kex.iter().map(AsRef::as_ref).collect();
        assert_eq!(names[..2], ["ecdh-sha2-nistp256", "curve25519-sha256"]);
        let keys: Vec<&str> = algorithms.host_keys.iter().map(Algorithm::as_str).collect();
        assert_eq!(keys, ["rsa-sha2-512", "ssh-ed25519", "ecdsa-sha2-nistp256"]);
    }

    #[test]
    fn nothing_known_and_nothing_asked() {
        let error = SshAlgorithms::parse(&owned(&["made-up"]), &[]).unwrap_err();
        let expected = "none of the SSH algorithms 'made-up' for --ssh-kex-algos is known";
        assert_eq!(error.to_string(), expected);
        assert!(SshAlgorithms::parse(&owned(&[""]), &[]).unwrap().kex.is_empty());
    }
}
