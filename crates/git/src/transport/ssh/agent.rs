//! Proving who we are with the keys of an SSH agent, which signs without giving them away.

use std::path::Path;

use russh::AgentAuthError;
use russh::client::Handle;
use russh::keys::HashAlg;
use russh::keys::agent::AgentIdentity;
use russh::keys::agent::client::AgentClient;

use super::connect::Client;
use crate::error::{Error, SshError};

/// Keys that are tried, in the order of the agent. Servers end a connection after six or so.
const MAX_KEYS: usize = 16;

/// Offers the server one key after the other; returns true when it has let us in.
pub(super) async fn authenticate(
    session: &mut Handle<Client>,
    user: &str,
    hash: Option<HashAlg>,
    socket: &Path,
) -> Result<bool, Error> {
    let failed = |reason: String| SshError::Agent { socket: socket.display().to_string(), reason };
    let mut agent = AgentClient::connect_uds(socket).await.map_err(|error| failed(error.to_string()))?;
    if let Some(binding) = session.agent_session_binding() {
        // Agents need it for keys that are for some hosts only; those that do not know it have none of these.
        if let Err(error) = agent.bind_session(binding, false).await {
            tracing::debug!(%error, "the SSH agent takes no binding");
        }
    }
    let identities = agent.request_identities().await.map_err(|error| failed(error.to_string()))?;
    if identities.is_empty() {
        return Err(failed("it holds no key; ssh-add gives it one".to_owned()).into());
    }
    for identity in identities.into_iter().take(MAX_KEYS) {
        let answer = match identity {
            AgentIdentity::PublicKey { key, .. } => {
                session.authenticate_publickey_with(user, key, hash, &mut agent).await
            }
            AgentIdentity::Certificate { certificate, .. } => {
                session.authenticate_certificate_with(user, certificate, hash, &mut agent).await
            }
        };
        match answer {
            Ok(answer) if answer.success() => return Ok(true),
            Ok(_) => {}
            // A key that the agent does not sign with, because its owner says no, leaves the others.
            Err(AgentAuthError::Key(error)) => {
                tracing::debug!(%error, "the SSH agent has not signed");
            }
            // The server has ended the connection after as many keys as it looks at.
            Err(AgentAuthError::Send(_)) => return Ok(false),
        }
    }
    Ok(false)
}
