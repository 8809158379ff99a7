//! Git over SSH: one session, one command, its output and input as the stream.

mod agent;
mod connect;
mod dial;
mod proxy;

use std::io::{self, Read, Write};
use std::sync::Arc;

use bytes::Bytes;
use git2::transport::{Service, SmartSubtransport, SmartSubtransportStream};
use russh::client::{Handle, Msg};
use russh::{Channel, ChannelMsg};

use self::connect::{Client, connect};
pub use self::proxy::ask_proxy;
use crate::credentials::decoded;
use crate::error::Error;
use crate::operation::Operation;

/// Bytes of the error stream that are kept for a message.
const MAX_STDERR_BYTES: usize = 4096;

/// The transport of one operation.
pub(super) struct SshTransport {
    operation: Arc<Operation>,
}

impl SshTransport {
    pub(super) fn new(operation: Arc<Operation>) -> Self {
        Self { operation }
    }
}

impl SmartSubtransport for SshTransport {
    fn action(&self, _url: &str, service: Service) -> Result<Box<dyn SmartSubtransportStream>, git2::Error> {
        let command = match service {
            Service::UploadPackLs | Service::UploadPack => "git-upload-pack",
            Service::ReceivePackLs | Service::ReceivePack => "git-receive-pack",
        };
        let command = format!("{command} {}", quoted(&repository_path(self.operation.remote.url.path())));
        let opened = self.operation.wait(async {
            let session = connect(&self.operation.remote, &self.operation.ssh).await?;
            let channel = session.channel_open_session().await.map_err(connect::protocol)?;
            channel.exec(true, command).await.map_err(connect::protocol)?;
            Ok((session, channel))
        });
        let (session, channel) = opened.map_err(|error| {
            let shown = self.operation.fail(error).to_string();
            git2::Error::new(git2::ErrorCode::GenericError, git2::ErrorClass::Ssh, shown)
        })?;
        Ok(Box::new(Session {
            operation: Arc::clone(&self.operation),
            _session: session,
            channel,
            pending: Bytes::new(),
            stderr: Vec::new(),
            has_answered: false,
        }))
    }

    fn close(&self) -> Result<(), git2::Error> {
        Ok(())
    }
}

/// Path of a repository on its server, from the path of its URL: without escapes, as Git itself reads it. `/~user/repo`
/// means a path in that user's home.
fn repository_path(path: &str) -> String {
    let path = decoded(path);
    if path.starts_with("/~") { path.trim_start_matches('/').to_owned() } else { path }
}

/// The path as one word of a shell.
fn quoted(path: &str) -> String {
    format!("'{}'", path.replace('\'', "'\\''").replace('!', "'\\!'"))
}

struct Session {
    operation: Arc<Operation>,
    /// Keeps the connection.
    _session: Handle<Client>,
    channel: Channel<Msg>,
    pending: Bytes,
    stderr: Vec<u8>,
    has_answered: bool,
}

impl Read for Session {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.pending.is_empty() {
            let channel = &mut self.channel;
            let message = self.operation.wait(async { Ok(channel.wait().await) });
            match message.map_err(|error| self.operation.fail(error))? {
                Some(ChannelMsg::Data { data }) => {
                    self.has_answered = true;
                    self.pending = data;
                }
                Some(ChannelMsg::ExtendedData { data, .. }) => {
                    let room = MAX_STDERR_BYTES.saturating_sub(self.stderr.len());
                    self.stderr.extend(data.iter().take(room));
                }
                // The exit status may overtake the last output; the end of the channel does not.
                Some(ChannelMsg::Close) | None if !self.has_answered => {
                    return Err(self.operation.fail(self.ended()));
                }
                Some(ChannelMsg::Close) | None => return Ok(0),
                Some(_) => {}
            }
        }
        let count = self.pending.len().min(buffer.len());
        let head = self.pending.split_to(count);
        if let Some(target) = buffer.get_mut(..count) {
            target.copy_from_slice(&head);
        }
        Ok(count)
    }
}

impl Session {
    /// Returns the error of a missing answer: servers say on the error stream that there is no such repository.
    fn ended(&self) -> Error {
        let text = String::from_utf8_lossy(&self.stderr).trim().to_owned();
        let said = text.to_lowercase();
        let missing =
            ["does not appear to be a git repository", "not found", "does not exist", "no such", "not a git"];
        if missing.iter().any(|words| said.contains(words)) {
            return Error::SshRepositoryNotFound;
        }
        Error::SshEnded { said: if text.is_empty() { "unexpected EOF".to_owned() } else { text } }
    }
}

impl Write for Session {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.operation.wait(async {
            self.channel.data_bytes(Bytes::copy_from_slice(bytes)).await.map_err(connect::protocol)
        });
        sent.map_err(|error| self.operation.fail(error))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
