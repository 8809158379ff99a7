//! Connecting: the host proves itself first, then we do.

use std::borrow::Cow;
use std::sync::Arc;

use russh::client::{self, Handle, Handler};
use russh::keys::ssh_key::EcdsaCurve;
use russh::keys::{Algorithm, HashAlg, PrivateKey, PrivateKeyWithHashAlg, PublicKeyOrCertificate};

use super::dial::dial;
use super::{agent, proxy};
use crate::credentials::{Credentials, SshAgent, decoded};
use crate::error::{Error, SshError};
use crate::known_hosts::{HostVerdict, KnownHosts};
use crate::remote::Remote;
use crate::ssh_algorithms::{self, SshAlgorithms};
use crate::ssh_key;

/// User of URLs without one.
const DEFAULT_USER: &str = "git";
const DEFAULT_PORT: u16 = 22;
/// Keys that hosts may have certificates of, all that we can judge.
const CERTIFIED: &[Algorithm] = &[
    Algorithm::Ed25519,
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP384 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP521 },
    Algorithm::Rsa { hash: Some(HashAlg::Sha512) },
    Algorithm::Rsa { hash: Some(HashAlg::Sha256) },
];

/// Judges the host by the known keys.
pub(super) struct Client {
    host: String,
    port: u16,
    known_hosts: KnownHosts,
}

/// Error of the handshake: ours when the host was refused, else the library's.
#[derive(Debug)]
pub(super) struct HandshakeError(SshError);

impl From<russh::Error> for HandshakeError {
    fn from(error: russh::Error) -> Self {
        Self(match &error {
            russh::Error::IO(io) => SshError::Connect { reason: io.to_string() },
            other => SshError::Protocol { reason: format!("handshake failed: {other}") },
        })
    }
}

impl Handler for Client {
    type Error = HandshakeError;

    async fn check_server_key(&mut self, presented: &PublicKeyOrCertificate) -> Result<bool, HandshakeError> {
        let verdict = match presented {
            PublicKeyOrCertificate::PublicKey { key, .. } => {
                self.known_hosts.check(&self.host, self.port, key)
            }
            PublicKeyOrCertificate::Certificate(certificate) => {
                self.known_hosts.check_certificate(&self.host, self.port, certificate)
            }
        };
        match verdict {
            HostVerdict::Known => Ok(true),
            HostVerdict::Mismatch => Err(HandshakeError(SshError::HostKeyMismatch)),
            HostVerdict::Unknown => Err(HandshakeError(SshError::HostKeyUnknown)),
            HostVerdict::Revoked => Err(HandshakeError(SshError::HostKeyRevoked)),
        }
    }
}

/// A session with an authenticated connection to a verified host.
pub(super) async fn connect(remote: &Remote, algorithms: &SshAlgorithms) -> Result<Handle<Client>, Error> {
    let (proof, known_hosts) = match &remote.credentials {
        Credentials::Ssh(auth) => (Proof::Key(Arc::new(ssh_key::decode(auth)?)), &auth.known_hosts),
        Credentials::SshAgent(agent) => (Proof::Agent(agent), &agent.known_hosts),
        Credentials::None | Credentials::Basic { .. } | Credentials::Bearer(_) => {
            return Err(Error::Credentials { scheme: remote.url.scheme().to_owned() });
        }
    };
    let client = judge(remote, known_hosts)?;
    let config = Arc::new(configuration(&client, algorithms));
    let (host, port) = (client.host.clone(), client.port);
    let connected = match remote.http.proxy.clone().or_else(|| proxy::of_environment(&host)) {
        Some(way) => {
            let stream = proxy::connect(&way, &host, port).await?;
            client::connect_stream(config, stream, client).await
        }
        None => client::connect_stream(config, dial(&host, port).await?, client).await,
    };
    let mut session = connected.map_err(|HandshakeError(error)| error)?;
    let user = user(remote);
    let is_let_in = match proof {
        Proof::Key(key) => {
            let hash = if key.algorithm().is_rsa() { rsa_hash(&session).await? } else { None };
            let key = PrivateKeyWithHashAlg::new(key, hash);
            session.authenticate_publickey(&user, key).await.map_err(protocol)?.success()
        }
        Proof::Agent(agent) => {
            let hash = rsa_hash(&session).await?;
            agent::authenticate(&mut session, &user, hash, &agent.socket).await?
        }
    };
    if is_let_in { Ok(session) } else { Err(SshError::NotAuthenticated.into()) }
}

/// Returns the hash that RSA keys sign with. A server that does not say which it knows is waited for, a second long.
async fn rsa_hash(session: &Handle<Client>) -> Result<Option<HashAlg>, Error> {
    Ok(session.best_supported_rsa_hash().await.map_err(protocol)?.flatten())
}

/// Returns the user of a URL, without escapes: it may be an address of mail.
fn user(remote: &Remote) -> String {
    match decoded(remote.url.username()) {
        user if user.is_empty() => DEFAULT_USER.to_owned(),
        user => user,
    }
}

/// The proof of who we are.
enum Proof<'a> {
    Key(Arc<PrivateKey>),
    Agent(&'a SshAgent),
}

fn judge(remote: &Remote, known_hosts: &str) -> Result<Client, Error> {
    Ok(Client {
        // Those of IPv6 addresses belong to the URL; `known_hosts` has its own.
        host: remote.url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned(),
        port: remote.url.port().unwrap_or(DEFAULT_PORT),
        known_hosts: KnownHosts::parse(known_hosts)?,
    })
}

/// Requests keys of the host that we can judge (DEP-GIT-9), unless the service was given the algorithms.
fn configuration(client: &Client, asked: &SshAlgorithms) -> client::Config {
    // Operations have a deadline, so that a connection on which nothing moves needs no limit of its own.
    let preferred = ssh_algorithms::preferred();
    let mut config =
        client::Config { inactivity_timeout: None, nodelay: true, preferred, ..Default::default() };
    if !asked.kex.is_empty() {
        config.preferred.kex = Cow::Owned(asked.kex.clone());
    }
    let algorithms = match asked.host_keys.is_empty() {
        true => client.known_hosts.algorithms(&client.host, client.port),
        false => asked.host_keys.clone(),
    };
    if !algorithms.is_empty() {
        config.preferred.key = Cow::Owned(algorithms);
    }
    if client.known_hosts.has_authority(&client.host, client.port) {
        config.preferred.host_key_certificates = match asked.host_keys.is_empty() {
            // The authority's line does not name the kind of the host's own key, and other lines do not either.
            true => Cow::Borrowed(CERTIFIED),
            false => config.preferred.key.clone(),
        };
    }
    config
}

/// An error after the host was accepted.
pub(super) fn protocol(error: russh::Error) -> Error {
    Error::Ssh(SshError::Protocol { reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl";

    #[rstest]
    #[case("ssh://host/app", "git")]
    #[case("ssh://me%40example.com@host/app", "me@example.com")]
    #[case("ssh://me@example.com@host/app", "me@example.com")]
    fn users(#[case] url: &str, #[case] expected: &str) {
        assert_eq!(user(&Remote::new(url.parse().unwrap())), expected);
    }

    /// SRC-GIT-29: names of addresses as `ssh-keyscan` writes them.
    #[rstest]
    #[case("ssh://git@[::1]/app", "::1")]
    #[case("ssh://git@[::1]:2222/app", "[::1]:2222")]
    #[case("ssh://git@127.0.0.1:2222/app", "[127.0.0.1]:2222")]
    #[case("ssh://git@Example.com/app", "example.com")]
    fn names_of_hosts(#[case] url: &str, #[case] name: &str) {
        let known_hosts = format!("{name} {KEY}");
        let client = judge(&Remote::new(url.parse().unwrap()), &known_hosts).unwrap();
        let key = russh::keys::PublicKey::from_openssh(KEY).unwrap();
        let verdict = client.known_hosts.check(&client.host, client.port, &key);
        assert_eq!(verdict, HostVerdict::Known, "{}", client.host);
    }
}
