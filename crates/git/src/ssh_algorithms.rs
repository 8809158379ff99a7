//! The algorithms that are offered to SSH servers (`--ssh-kex-algos`, `--ssh-hostkey-algos`).

use russh::kex::{self, Name};
use russh::keys::Algorithm;

/// Algorithms by the names of the SSH protocol. Empty lists leave the choice to the library, and that of host keys to
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
            // No algorithms, but sent in the same list: RSA keys may sign with SHA-2, and no handshake is truncated.
            kex.extend([kex::EXTENSION_SUPPORT_AS_CLIENT, kex::EXTENSION_OPENSSH_STRICT_KEX_AS_CLIENT]);
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
