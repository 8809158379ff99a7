//! The host keys that are believed: `known_hosts` as OpenSSH documents it (SRC-GIT-29).
//!
//! Plain and hashed names, wildcards and negation, `[host]:port`, `@cert-authority` and `@revoked`. A host that no line
//! names is unknown and refused: nothing is trusted at first sight, and the machine's own file is not read. As in Flux, a name is
//! a host with a port, which is 22 where there is none, and a revoked key is refused for every host.

use base64::Engine;
use hmac::{Hmac, KeyInit, Mac};
use russh::keys::ssh_key::public::KeyData;
use russh::keys::ssh_key::{Algorithm, Certificate, HashAlg, PublicKey, certificate::CertType};
use sha1::Sha1;

/// Bytes of a `known_hosts` text. Every line costs a hash per connection.
const MAX_BYTES: usize = 1 << 20;
/// The port that names without a port mean.
const DEFAULT_PORT: &str = "22";
const AUTHORITY: &str = "@cert-authority";
const REVOKED: &str = "@revoked";

/// Errors in a text that should be a `known_hosts` file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KnownHostsError {
    /// A line with fewer than its two or three fields.
    #[error("knownhosts: missing host pattern")]
    MissingPattern,
    /// A line with an invalid host pattern: a hash that cannot be read, brackets without a port, a `!` alone.
    #[error("knownhosts: line {line}: invalid host pattern")]
    Pattern {
        /// Number of the line.
        line: usize,
    },
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

#[derive(Debug, Clone)]
enum Names {
    Patterns(Vec<Pattern>),
    Hashed { salt: Vec<u8>, hash: Vec<u8> },
}

/// A host and a port, either with wildcards.
#[derive(Debug, Clone)]
struct Pattern {
    is_negated: bool,
    host: String,
    port: String,
}

/// A key that is believed.
#[derive(Debug, Clone)]
struct Line {
    is_authority: bool,
    names: Names,
    key: PublicKey,
}

/// A parsed `known_hosts` file.
#[derive(Debug, Clone)]
pub struct KnownHosts {
    lines: Vec<Line>,
    revoked: Vec<PublicKey>,
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
        let mut hosts = Self { lines: Vec::new(), revoked: Vec::new() };
        for (index, line) in text.lines().map(str::trim).enumerate() {
            if !line.is_empty() && !line.starts_with('#') {
                hosts.add(index + 1, line)?;
            }
        }
        Ok(hosts)
    }

    fn add(&mut self, line: usize, text: &str) -> Result<(), KnownHostsError> {
        let mut fields = text.split_whitespace();
        let mut next = || fields.next().ok_or(KnownHostsError::MissingPattern);
        let first = next()?;
        let (marker, names) = match first {
            AUTHORITY | REVOKED => (first, next()?),
            marker if marker.starts_with('@') => return Err(KnownHostsError::Marker { line }),
            names => ("", names),
        };
        let (kind, key) = (next()?, next()?);
        let key = PublicKey::from_openssh(&format!("{kind} {key}"));
        let key = key.map_err(|_| KnownHostsError::Key { line })?;
        if marker == REVOKED {
            self.revoked.push(key);
            return Ok(());
        }
        let names = Names::parse(names).ok_or(KnownHostsError::Pattern { line })?;
        self.lines.push(Line { is_authority: marker == AUTHORITY, names, key });
        Ok(())
    }

    /// The lines that name a host, of authorities or of its own keys.
    fn of<'a>(&'a self, host: &str, port: u16, is_authority: bool) -> impl Iterator<Item = &'a Line> {
        let (host, port) = (host.to_lowercase(), port.to_string());
        let lines = self.lines.iter().filter(move |line| line.is_authority == is_authority);
        lines.filter(move |line| line.names.contain(&host, &port))
    }

    /// Returns true when one of the keys must not be used, by any host.
    fn has_revoked(&self, keys: &[&KeyData]) -> bool {
        self.revoked.iter().any(|revoked| keys.contains(&revoked.key_data()))
    }

    /// Returns the verdict about `key` as the key of `host`.
    #[must_use]
    pub fn check(&self, host: &str, port: u16, key: &PublicKey) -> HostVerdict {
        if self.has_revoked(&[key.key_data()]) {
            return HostVerdict::Revoked;
        }
        let own: Vec<_> = self.of(host, port, false).collect();
        match own.iter().any(|line| line.key.key_data() == key.key_data()) {
            true => HostVerdict::Known,
            false if own.is_empty() => HostVerdict::Unknown,
            false => HostVerdict::Mismatch,
        }
    }

    /// Returns the verdict about a host certificate: signed by an authority for this host, valid now, naming the
    /// host.
    #[must_use]
    pub fn check_certificate(&self, host: &str, port: u16, certificate: &Certificate) -> HostVerdict {
        if self.has_revoked(&[certificate.public_key(), certificate.signature_key()]) {
            return HostVerdict::Revoked;
        }
        let authorities = self.of(host, port, true);
        let authorities: Vec<_> = authorities.map(|line| line.key.fingerprint(HashAlg::Sha256)).collect();
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
        let own: Vec<_> = self.of(host, port, false).collect();
        let any = self.lines.iter().filter(|line| !line.is_authority);
        let lines = if own.is_empty() { any.collect() } else { own };
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
        self.of(host, port, true).next().is_some()
    }
}

impl Names {
    fn parse(text: &str) -> Option<Self> {
        let Some(hashed) = text.strip_prefix('|') else {
            let patterns = text.split(',').filter(|pattern| !pattern.is_empty());
            return patterns.map(Pattern::parse).collect::<Option<_>>().map(Self::Patterns);
        };
        let (salt, hash) = hashed.strip_prefix("1|")?.split_once('|')?;
        let decode = |part| base64::engine::general_purpose::STANDARD.decode(part).ok();
        Some(Self::Hashed { salt: decode(salt)?, hash: decode(hash)? })
    }

    fn contain(&self, host: &str, port: &str) -> bool {
        match self {
            Self::Hashed { salt, hash } => {
                let name = if port == DEFAULT_PORT { host.to_owned() } else { format!("[{host}]:{port}") };
                let mac = Hmac::<Sha1>::new_from_slice(salt);
                mac.is_ok_and(|mac| mac.chain_update(name.as_bytes()).verify_slice(hash).is_ok())
            }
            Self::Patterns(patterns) => {
                let mut matching = patterns.iter().filter(|pattern| pattern.matches(host, port)).peekable();
                matching.peek().is_some() && matching.all(|pattern| !pattern.is_negated)
            }
        }
    }
}

impl Pattern {
    fn parse(text: &str) -> Option<Self> {
        let (is_negated, name) = text.strip_prefix('!').map_or((false, text), |name| (true, name));
        let (host, port) = match split_port(name) {
            Some(split) => split,
            None if name.is_empty() || name.starts_with('[') => return None,
            None => (name, DEFAULT_PORT),
        };
        Some(Self { is_negated, host: host.to_lowercase(), port: port.to_owned() })
    }

    fn matches(&self, host: &str, port: &str) -> bool {
        wildcard(&self.host, host) && wildcard(&self.port, port)
    }
}

/// Takes `host:port` or `[host]:port` apart, as Go does: an address of IPv6 has a port only behind brackets.
fn split_port(name: &str) -> Option<(&str, &str)> {
    let (host, port) = match name.strip_prefix('[') {
        Some(rest) => rest.split_once("]:")?,
        None => name.rsplit_once(':').filter(|(host, _)| !host.contains(':'))?,
    };
    let is_plain = |part: &str| !part.contains(['[', ']']);
    (is_plain(host) && is_plain(port) && !port.contains(':')).then_some((host, port))
}

/// `*` and `?` over the whole text; brackets are literal.
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
