//! The host keys that are believed: `known_hosts` as OpenSSH documents it (SRC-GIT-29).
//!
//! Plain and hashed names, wildcards and negation, `[host]:port`, `@cert-authority` and `@revoked`. A host that no line
//! names is unknown and refused: nothing is trusted at first sight, and the machine's own file is not read.

use base64::Engine;
use hmac::{Hmac, KeyInit, Mac};
use russh::keys::ssh_key::{Algorithm, Certificate, HashAlg, PublicKey, certificate::CertType};
use sha1::Sha1;

/// Bytes of a `known_hosts` text. Every line costs a hash per connection.
const MAX_BYTES: usize = 1 << 20;
/// The port that names without a port mean.
const DEFAULT_PORT: u16 = 22;

/// Errors in a text that should be a `known_hosts` file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KnownHostsError {
    /// A line with fewer than its two or three fields.
    #[error("knownhosts: missing host pattern")]
    MissingPattern,
    /// A line whose key cannot be read.
    #[error("knownhosts: line {line}: invalid key")]
    Key {
        /// Number of the line.
        line: usize,
    },
    /// A marker other than the two that exist.
    #[error("knownhosts: line {line}: unknown marker")]
    Marker {
        /// Number of the line.
        line: usize,
    },
    /// More text than anyone needs.
    #[error("knownhosts: more than {limit} bytes")]
    TooLarge {
        /// The cap.
        limit: usize,
    },
}

/// The verdict of the file about a host's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostVerdict {
    /// It is this host's key.
    Known,
    /// The host has other keys.
    Mismatch,
    /// The file does not mention the host.
    Unknown,
    /// The key must not be used any more.
    Revoked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marker {
    Plain,
    CertAuthority,
    Revoked,
}

#[derive(Debug, Clone)]
enum Names {
    Patterns(Vec<String>),
    Hashed { salt: Vec<u8>, hash: Vec<u8> },
}

#[derive(Debug, Clone)]
struct Line {
    marker: Marker,
    names: Names,
    key: PublicKey,
}

/// A parsed `known_hosts` file.
#[derive(Debug, Clone)]
pub struct KnownHosts {
    lines: Vec<Line>,
}

impl KnownHosts {
    /// Parses the text; blank lines and comments are skipped.
    ///
    /// # Errors
    /// When a line is malformed: half a file is not silently used.
    pub fn parse(text: &str) -> Result<Self, KnownHostsError> {
        if text.len() > MAX_BYTES {
            return Err(KnownHostsError::TooLarge { limit: MAX_BYTES });
        }
        let lines = text.lines().map(str::trim).enumerate();
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        Ok(Self { lines: lines.map(|(index, line)| Line::parse(index + 1, line)).collect::<Result<_, _>>()? })
    }

    /// Returns the verdict about `key` as the key of `host`.
    #[must_use]
    pub fn check(&self, host: &str, port: u16, key: &PublicKey) -> HostVerdict {
        let matching = || self.lines.iter().filter(|line| line.names.contain(host, port));
        let same = |line: &&Line| line.key.key_data() == key.key_data();
        if matching().filter(same).any(|line| line.marker == Marker::Revoked) {
            return HostVerdict::Revoked;
        }
        let plain: Vec<_> = matching().filter(|line| line.marker == Marker::Plain).collect();
        match plain.iter().any(same) {
            true => HostVerdict::Known,
            false if plain.is_empty() => HostVerdict::Unknown,
            false => HostVerdict::Mismatch,
        }
    }

    /// Returns the verdict about a host certificate: signed by an authority for this host, valid now, naming the
    /// host.
    #[must_use]
    pub fn check_certificate(&self, host: &str, port: u16, certificate: &Certificate) -> HostVerdict {
        let matching = || self.lines.iter().filter(|line| line.names.contain(host, port));
        let revoked = |line: &&Line| {
            line.marker == Marker::Revoked
                && [certificate.public_key(), certificate.signature_key()].contains(&line.key.key_data())
        };
        if matching().any(|line| revoked(&line)) {
            return HostVerdict::Revoked;
        }
        let authorities: Vec<_> = matching()
            .filter(|line| line.marker == Marker::CertAuthority)
            .map(|line| line.key.fingerprint(HashAlg::Sha256))
            .collect();
        if authorities.is_empty() {
            return HostVerdict::Unknown;
        }
        let names_host =
            certificate.valid_principals().iter().any(|principal| principal.eq_ignore_ascii_case(host));
        let is_host = certificate.cert_type() == CertType::Host
            && certificate.critical_options().iter().next().is_none();
        if names_host && is_host && certificate.validate(&authorities).is_ok() {
            HostVerdict::Known
        } else {
            HostVerdict::Mismatch
        }
    }

    /// Returns the key algorithms to request of `host`, so that it presents a key that we can judge: those of its own
    /// lines, else those of any line. RSA keys are requested with SHA-2; SHA-1 only when nothing but RSA is known.
    #[must_use]
    pub fn algorithms(&self, host: &str, port: u16) -> Vec<Algorithm> {
        let plain = || self.lines.iter().filter(|line| line.marker == Marker::Plain);
        let own: Vec<_> = plain().filter(|line| line.names.contain(host, port)).collect();
        let lines = if own.is_empty() { plain().collect() } else { own };
        let mut algorithms = Vec::new();
        for line in lines {
            match line.key.algorithm() {
                Algorithm::Rsa { .. } => {
                    algorithms.push(Algorithm::Rsa { hash: Some(HashAlg::Sha512) });
                    algorithms.push(Algorithm::Rsa { hash: Some(HashAlg::Sha256) });
                }
                other => algorithms.push(other),
            }
        }
        if !algorithms.is_empty()
            && algorithms.iter().all(|algorithm| matches!(algorithm, Algorithm::Rsa { .. }))
        {
            algorithms.push(Algorithm::Rsa { hash: None });
        }
        let mut unique = Vec::with_capacity(algorithms.len());
        for algorithm in algorithms {
            if !unique.contains(&algorithm) {
                unique.push(algorithm);
            }
        }
        unique
    }

    /// Returns true when an authority signs for this host, so that certificates are worth asking for.
    #[must_use]
    pub fn has_authority(&self, host: &str, port: u16) -> bool {
        self.lines.iter().any(|line| line.marker == Marker::CertAuthority && line.names.contain(host, port))
    }
}

impl Line {
    fn parse(number: usize, text: &str) -> Result<Self, KnownHostsError> {
        let mut fields = text.split_whitespace();
        let mut next = || fields.next().ok_or(KnownHostsError::MissingPattern);
        let first = next()?;
        let (marker, names) = match first {
            "@cert-authority" => (Marker::CertAuthority, next()?),
            "@revoked" => (Marker::Revoked, next()?),
            marker if marker.starts_with('@') => return Err(KnownHostsError::Marker { line: number }),
            names => (Marker::Plain, names),
        };
        let (kind, key) = (next()?, next()?);
        let key = PublicKey::from_openssh(&format!("{kind} {key}"))
            .map_err(|_| KnownHostsError::Key { line: number })?;
        let names = Names::parse(names).ok_or(KnownHostsError::MissingPattern)?;
        Ok(Self { marker, names, key })
    }
}

impl Names {
    fn parse(text: &str) -> Option<Self> {
        let Some(hashed) = text.strip_prefix("|1|") else {
            return Some(Self::Patterns(text.split(',').map(str::to_lowercase).collect()));
        };
        let (salt, hash) = hashed.split_once('|')?;
        let decode = |part| base64::engine::general_purpose::STANDARD.decode(part).ok();
        Some(Self::Hashed { salt: decode(salt)?, hash: decode(hash)? })
    }

    fn contain(&self, host: &str, port: u16) -> bool {
        let host = host.to_lowercase();
        let name = if port == DEFAULT_PORT { host } else { format!("[{host}]:{port}") };
        match self {
            Self::Hashed { salt, hash } => Hmac::<Sha1>::new_from_slice(salt)
                .is_ok_and(|mac| mac.chain_update(name.as_bytes()).verify_slice(hash).is_ok()),
            Self::Patterns(patterns) => {
                let (negated, plain): (Vec<_>, Vec<_>) =
                    patterns.iter().partition(|pattern| pattern.starts_with('!'));
                let negates =
                    |pattern: &&String| pattern.strip_prefix('!').is_some_and(|rest| wildcard(rest, &name));
                !negated.iter().any(negates) && plain.iter().any(|pattern| wildcard(pattern, &name))
            }
        }
    }
}

/// `*` and `?` over the whole name. Brackets are literal: they belong to the port notation.
fn wildcard(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at_pattern, mut at_name) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while at_name < name.len() {
        match pattern.get(at_pattern) {
            Some('*') => {
                star = Some((at_pattern, at_name));
                at_pattern += 1;
            }
            Some(character) if *character == '?' || name.get(at_name) == Some(character) => {
                at_pattern += 1;
                at_name += 1;
            }
            _ => match star {
                Some((position, from)) => {
                    star = Some((position, from + 1));
                    at_pattern = position + 1;
                    at_name = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern.get(at_pattern..).unwrap_or_default().iter().all(|character| *character == '*')
}

#[cfg(test)]
mod tests;
