//! A client of NATS that publishes one message. It knows only the part of the protocol that this needs (docs/adr/0027). The
//! server has handled the message when it answers the ping that follows it.

use std::io;
use std::time::Duration;

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine};
use nkeys::KeyPair;
use rustls::pki_types::ServerName;
use secrecy::{ExposeSecret, SecretSlice, SecretString};
use serde::{Deserialize, Serialize, Serializer};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::Url;
use weir_http::{ClientError, Profile};

use crate::provider::nats::{Publication, User};

const PORT: u16 = 4222;
/// Time for a server to take a connection and greet, where another one can be asked; that of NATS's own clients.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longest line accepted from a server, in bytes. Its greeting names all servers of a cluster; all other lines are short.
const MAX_LINE: u64 = 64 * 1024;
/// Most lines accepted before the answer to a ping: greetings, pings and acknowledgements, a few of each.
const MAX_LINES: usize = 64;
/// Most characters of a server's line that an error repeats.
const MAX_SHOWN: usize = 200;
const NAME: &str = "NATS Provider Publisher";

/// Errors of a publication. Nothing secret is in them.
#[derive(Debug, thiserror::Error)]
pub enum NatsError {
    /// No server accepts connections.
    #[error("error connecting to server: nats: no servers available for connection")]
    NoServers,
    /// The connection cannot be made or used.
    #[error("error connecting to server: {host}: {source}")]
    Connection {
        /// The server.
        host: String,
        /// The reason.
        #[source]
        source: io::Error,
    },
    /// The Provider's certificates make no client.
    #[error("error connecting to server: {0}")]
    Tls(#[from] ClientError),
    /// The seed of a key has another form.
    #[error("error parsing nkey seed: {0}")]
    Seed(nkeys::error::Error),
    /// The server refuses the connection.
    #[error("error connecting to server: nats: {0}")]
    Refused(String),
    /// The server refuses the message.
    #[error("error publishing message to server: nats: {0}")]
    NotPublished(String),
    /// The Provider has certificates, and the server offers no TLS.
    #[error("error connecting to server: nats: secure connection not available")]
    NoTls,
    /// The message is larger than the server accepts.
    #[error("error publishing message to server: nats: maximum payload exceeded")]
    TooLarge,
    /// The server breaks the protocol.
    #[error("error connecting to server: nats: {0:?} is no answer of a NATS server")]
    Protocol(String),
}

/// The greeting of a server, with the fields that matter here.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Info {
    nonce: String,
    tls_required: bool,
    tls_available: bool,
    /// Largest message that the server accepts, in bytes; 0 when it does not say.
    max_payload: u64,
}

/// The greeting of this client.
#[derive(Serialize, Default)]
struct Connect<'a> {
    verbose: bool,
    pedantic: bool,
    tls_required: bool,
    name: &'a str,
    lang: &'a str,
    version: &'a str,
    protocol: u8,
    echo: bool,
    #[serde(flatten)]
    identity: Identity,
}

#[derive(Serialize, Default)]
struct Identity {
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "exposed")]
    pass: Option<SecretString>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "exposed")]
    auth_token: Option<SecretString>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "exposed")]
    jwt: Option<SecretString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nkey: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sig: Option<String>,
}

/// Writes a secret into the greeting.
fn exposed<S: Serializer>(secret: &Option<SecretString>, serializer: S) -> Result<S::Ok, S::Error> {
    secret.as_ref().map(|secret| secret.expose_secret()).serialize(serializer)
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A connection to one server.
struct Connection {
    host: String,
    max_payload: u64,
    stream: BufReader<Box<dyn Stream>>,
}

/// Publishes at the first server that takes connections; the caller bounds the time, which one that is silent leaves to the next.
pub(super) async fn publish(publication: &Publication, profile: &Profile) -> Result<(), NatsError> {
    let mut last = NatsError::NoServers;
    for (number, server) in (1..).zip(&publication.servers) {
        let connecting = connect(server, &publication.user, profile);
        let connected = match number < publication.servers.len() {
            true => tokio::time::timeout(PATIENCE, connecting).await.unwrap_or_else(|_| Err(silent(server))),
            false => connecting.await,
        };
        match connected {
            Ok(connection) => return connection.publish(publication).await,
            Err(NatsError::Connection { source, .. })
                if source.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Publishes at the first of the servers over a stream that leads there.
///
/// # Errors
/// When the server refuses the message or breaks the protocol.
pub async fn publish_over(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    publication: &Publication,
    profile: &Profile,
) -> Result<(), NatsError> {
    let server = publication.servers.first().ok_or(NatsError::NoServers)?;
    let connection = Connection::over(stream, server).logged_in(server, &publication.user, profile).await?;
    connection.publish(publication).await
}

fn silent(server: &Url) -> NatsError {
    NatsError::Connection { host: host(server), source: io::ErrorKind::TimedOut.into() }
}

async fn connect(server: &Url, user: &User, profile: &Profile) -> Result<Connection, NatsError> {
    let host = host(server);
    let stream = TcpStream::connect((host.as_str(), server.port().unwrap_or(PORT))).await;
    let stream = stream.map_err(|source| NatsError::Connection { host, source })?;
    Connection::over(stream, server).logged_in(server, user, profile).await
}

fn host(server: &Url) -> String {
    server.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned()
}

impl Connection {
    fn over(stream: impl Stream + 'static, server: &Url) -> Self {
        Self { host: host(server), max_payload: 0, stream: BufReader::new(Box::new(stream)) }
    }

    /// Reads the server's greeting, begins TLS if either side asks for it, and logs in.
    async fn logged_in(mut self, server: &Url, user: &User, profile: &Profile) -> Result<Self, NatsError> {
        let greeting = self.line().await?;
        let info = greeting.strip_prefix("INFO ").and_then(|info| serde_json::from_str::<Info>(info).ok());
        let info = info.ok_or_else(|| NatsError::Protocol(shown(&greeting)))?;
        self.max_payload = info.max_payload;
        let is_wanted = server.scheme() == "tls" || profile.ca.is_some() || profile.certificate.is_some();
        if is_wanted && !info.tls_required && !info.tls_available {
            return Err(NatsError::NoTls);
        }
        let encrypted = is_wanted || info.tls_required;
        if encrypted {
            self = self.encrypted(profile).await?;
        }
        let connect = Connect {
            tls_required: encrypted,
            name: NAME,
            lang: "rust",
            version: env!("CARGO_PKG_VERSION"),
            protocol: 1,
            echo: true,
            identity: identity(server, user, &info.nonce)?,
            ..Connect::default()
        };
        let connect = SecretString::from(serde_json::to_string(&connect).unwrap_or_default());
        let greeting = [b"CONNECT ", connect.expose_secret().as_bytes(), b"\r\n"];
        self.send_and_ping(&greeting).await?.map_err(NatsError::Refused)?;
        Ok(self)
    }

    async fn publish(mut self, publication: &Publication) -> Result<(), NatsError> {
        let Publication { subject, payload, .. } = publication;
        let size = payload.len();
        // The server would close the connection before it has read the message, and its answer would be lost.
        if self.max_payload > 0 && u64::try_from(size).unwrap_or(u64::MAX) > self.max_payload {
            return Err(NatsError::TooLarge);
        }
        let head = format!("PUB {subject} {size}\r\n");
        let sent = self.send_and_ping(&[head.as_bytes(), payload, b"\r\n"]).await?;
        sent.map_err(NatsError::NotPublished)
    }

    /// Sends and waits until the server has handled all of it. The inner error is the server's complaint.
    async fn send_and_ping(&mut self, parts: &[&[u8]]) -> Result<Result<(), String>, NatsError> {
        // In one piece: a server that refuses a part closes the connection, and unread bytes would destroy its answer.
        let bytes = SecretSlice::from([&parts.concat(), b"PING\r\n".as_slice()].concat());
        self.send(bytes.expose_secret()).await?;
        for _ in 0..MAX_LINES {
            let line = self.line().await?;
            match line.split(' ').next().unwrap_or_default() {
                "PONG" => return Ok(Ok(())),
                "PING" => self.send(b"PONG\r\n").await?,
                "-ERR" => {
                    let complaint = line.trim_start_matches("-ERR").trim();
                    return Ok(Err(shown(complaint.trim_matches('\''))));
                }
                "+OK" | "INFO" => {}
                _ => return Err(NatsError::Protocol(shown(&line))),
            }
        }
        Err(NatsError::Protocol("a line too many".to_owned()))
    }

    async fn line(&mut self) -> Result<String, NatsError> {
        let mut line = Vec::new();
        let read = (&mut self.stream).take(MAX_LINE).read_until(b'\n', &mut line).await;
        let read = read.map_err(|source| self.failed(source))?;
        if read == 0 {
            return Err(self.failed(io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<(), NatsError> {
        let mut sent = self.stream.write_all(bytes).await;
        if sent.is_ok() {
            sent = self.stream.flush().await;
        }
        sent.map_err(|source| self.failed(source))
    }

    async fn encrypted(self, profile: &Profile) -> Result<Self, NatsError> {
        let connector = TlsConnector::from(weir_http::tls_config(profile)?);
        let failed = |source| NatsError::Connection { host: self.host.clone(), source };
        let name = ServerName::try_from(self.host.clone());
        let name = name.map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidInput, error)))?;
        let stream = connector.connect(name, self.stream.into_inner()).await.map_err(failed)?;
        Ok(Self { stream: BufReader::new(Box::new(stream)), host: self.host, max_payload: self.max_payload })
    }

    fn failed(&self, source: io::Error) -> NatsError {
        NatsError::Connection { host: self.host.clone(), source }
    }
}

/// Returns the start of a server's line without control characters.
fn shown(line: &str) -> String {
    line.chars().filter(|c| !c.is_control()).take(MAX_SHOWN).collect()
}

/// Returns the identity for a server. The user information of the address goes before the Secret's, except for credentials.
fn identity(server: &Url, user: &User, nonce: &str) -> Result<Identity, NatsError> {
    let of_address = match (server.username(), server.password()) {
        ("", None) => None,
        (token, None) => Some(Identity { auth_token: Some(decoded(token).into()), ..Identity::default() }),
        (user, Some(password)) => {
            let (user, pass) = (Some(decoded(user)), Some(decoded(password).into()));
            Some(Identity { user, pass, ..Identity::default() })
        }
    };
    Ok(match (user, of_address) {
        (User::Credentials(token, seed), of_address) => {
            let (_, sig) = signed(seed, nonce)?;
            Identity { jwt: Some(token.clone()), sig: Some(sig), ..of_address.unwrap_or_default() }
        }
        (_, Some(of_address)) => of_address,
        (User::Key(seed), None) => {
            let (key, sig) = signed(seed, nonce)?;
            Identity { nkey: Some(key), sig: Some(sig), ..Identity::default() }
        }
        (User::Password(name, password), None) => {
            Identity { user: Some(name.clone()), pass: Some(password.clone()), ..Identity::default() }
        }
        (User::Nobody, None) => Identity::default(),
    })
}

/// Returns the public key of a seed, and its signature of the server's nonce.
fn signed(seed: &SecretString, nonce: &str) -> Result<(String, String), NatsError> {
    let pair = KeyPair::from_seed(seed.expose_secret()).map_err(NatsError::Seed)?;
    let signature = pair.sign(nonce.as_bytes()).map_err(NatsError::Seed)?;
    Ok((pair.public_key(), BASE64_URL_SAFE_NO_PAD.encode(signature)))
}

fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}
