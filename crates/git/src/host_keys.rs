//! The public keys of an SSH server that nobody knows yet, for a person to look at (CLI-SEC02).

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use russh::client::{self, Handler};
use russh::keys::ssh_key::EcdsaCurve;
use russh::keys::{Algorithm, HashAlg, PublicKeyBase64, PublicKeyOrCertificate};

use crate::error::SshError;
use crate::ssh_algorithms;

/// Longest time for all keys of one server.
const TIMEOUT: Duration = Duration::from_secs(30);
const DEFAULT_PORT: u16 = 22;

/// Kinds of keys that are asked for, each by a connection of its own: a server shows one key a connection.
const KINDS: [Algorithm; 5] = [
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP384 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP521 },
    Algorithm::Ed25519,
    Algorithm::Rsa { hash: Some(HashAlg::Sha512) },
];

/// Notes the key that the server shows, and goes no further.
struct Note(Arc<Mutex<Option<String>>>);

impl Handler for Note {
    type Error = russh::Error;

    async fn check_server_key(&mut self, presented: &PublicKeyOrCertificate) -> Result<bool, russh::Error> {
        if let PublicKeyOrCertificate::PublicKey { key, .. } = presented {
            *self.0.lock() = Some(format!("{} {}", key.algorithm().as_str(), key.public_key_base64()));
        }
        Ok(false)
    }
}

/// Asks a server for its public keys and returns the lines of a `known_hosts` file. Nothing proves that it is the right
/// server: a person has to compare the keys.
///
/// # Errors
/// When the server does not answer within 30 seconds, or shows no key.
pub async fn scan_host_keys(host: &str, port: Option<u16>) -> Result<String, SshError> {
    let scanned = tokio::time::timeout(TIMEOUT, scan(host, port.unwrap_or(DEFAULT_PORT))).await;
    scanned.unwrap_or_else(|_| Err(SshError::Connect { reason: "no answer within 30s".to_owned() }))
}

async fn scan(host: &str, port: u16) -> Result<String, SshError> {
    let name = if port == DEFAULT_PORT { host.to_owned() } else { format!("[{host}]:{port}") };
    let mut lines = String::new();
    let mut refusal = None;
    for kind in KINDS {
        let noted = Arc::new(Mutex::new(None));
        let mut config = client::Config { preferred: ssh_algorithms::preferred(), ..Default::default() };
        config.preferred.key = Cow::Owned(vec![kind]);
        match client::connect(Arc::new(config), (host, port), Note(Arc::clone(&noted))).await {
            Err(russh::Error::IO(error)) => return Err(SshError::Connect { reason: error.to_string() }),
            Err(error) => refusal = Some(error.to_string()),
            Ok(_) => {}
        }
        if let Some(key) = noted.lock().take() {
            lines.push_str(&format!("{name} {key}\n"));
        }
    }
    if lines.is_empty() {
        return Err(SshError::Protocol { reason: refusal.unwrap_or_else(|| "no key".to_owned()) });
    }
    Ok(lines)
}
