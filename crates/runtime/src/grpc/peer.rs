//! Calls to other services: an authenticated channel, and the publishing of events.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use secrecy::{ExposeSecret, SecretString};
use tonic::metadata::MetadataValue;
use tonic::service::Interceptor;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Status};
use weir_proto::notification::v1::events_client::EventsClient;
use weir_proto::notification::v1::{self as proto, PublishRequest};

use crate::event::{Event, Severity};

/// Where a Pod's token lies; kubelet replaces it before it expires.
const TOKEN_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// How long a token read from a file is used before the file is read again; kubelet renews at 80 % of an hour.
const TOKEN_AGE: Duration = Duration::from_secs(60);

/// How long one connection may take to come up.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Keepalive that finds a dead peer within half a minute.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// The bearer token this process shows to its peers.
#[derive(Clone, Debug)]
pub struct PeerToken {
    source: Arc<Source>,
}

#[derive(Debug)]
enum Source {
    /// All services are in this process; the token never leaves it.
    Process(SecretString),
    File {
        path: PathBuf,
        read: Mutex<Option<(Instant, SecretString)>>,
    },
}

impl PeerToken {
    /// The Pod's token file where there is one, else a secret of this process that only its own servers know.
    pub(crate) fn of_process(config: &kube::Config) -> Self {
        let file = config.auth_info.token_file.as_deref().map_or(Path::new(TOKEN_FILE), Path::new);
        let source = if file.exists() {
            Source::File { path: file.to_owned(), read: Mutex::default() }
        } else {
            Source::Process(format!("{}{}", uuid::Uuid::new_v4(), uuid::Uuid::new_v4()).into())
        };
        Self { source: Arc::new(source) }
    }

    /// Whether this is the secret shared inside the process.
    pub(crate) fn is_process_secret(&self, token: &str) -> bool {
        use subtle::ConstantTimeEq;
        match &*self.source {
            Source::Process(secret) => secret.expose_secret().as_bytes().ct_eq(token.as_bytes()).into(),
            Source::File { .. } => false,
        }
    }

    fn current(&self) -> std::io::Result<SecretString> {
        match &*self.source {
            Source::Process(secret) => Ok(secret.clone()),
            Source::File { path, read } => {
                let mut read = read.lock();
                if let Some((at, token)) = &*read
                    && at.elapsed() < TOKEN_AGE
                {
                    return Ok(token.clone());
                }
                let token = SecretString::from(std::fs::read_to_string(path)?.trim().to_owned());
                *read = Some((Instant::now(), token.clone()));
                Ok(token)
            }
        }
    }
}

/// Adds the token to calls.
#[derive(Clone, Debug)]
pub struct Token(pub PeerToken);

impl Interceptor for Token {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let token = self
            .0
            .current()
            .map_err(|error| Status::unauthenticated(format!("no token for the peer: {error}")))?;
        let value = format!("Bearer {}", token.expose_secret());
        let mut value: MetadataValue<_> = value
            .parse()
            .map_err(|_| Status::unauthenticated("the token for the peer is not a header value"))?;
        value.set_sensitive(true);
        request.metadata_mut().insert("authorization", value);
        Ok(request)
    }
}

/// A lazy, reconnecting channel to `host:port`, with TLS when a CA is given. Wrap clients with [`Token`].
pub fn peer_channel(addr: &str, ca_pem: Option<&[u8]>) -> Result<Channel, tonic::transport::Error> {
    let scheme = if ca_pem.is_some() { "https" } else { "http" };
    let mut endpoint = Endpoint::from_shared(format!("{scheme}://{addr}"))?
        .connect_timeout(CONNECT_TIMEOUT)
        .http2_keep_alive_interval(KEEPALIVE)
        .keep_alive_while_idle(true)
        .tcp_nodelay(true);
    if let Some(pem) = ca_pem {
        endpoint = endpoint.tls_config(ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem)))?;
    }
    Ok(endpoint.connect_lazy())
}

/// The notification service, as a destination of events.
pub struct EventsPeer {
    client: EventsClient<tonic::service::interceptor::InterceptedService<Channel, Token>>,
}

impl EventsPeer {
    /// Makes a client of a channel.
    pub fn new(channel: Channel, token: PeerToken) -> Self {
        Self { client: EventsClient::with_interceptor(channel, Token(token)) }
    }

    /// Publishes one event; it is stored when this returns.
    pub async fn publish(&mut self, event: &Event) -> Result<(), Status> {
        let request = PublishRequest { event: Some(message(event)) };
        self.client.publish(request).await.map(drop)
    }
}

fn message(event: &Event) -> proto::Event {
    let involved = &event.involved_object;
    let severity = match event.severity {
        Severity::Trace => proto::Severity::Trace,
        Severity::Info => proto::Severity::Info,
        Severity::Error => proto::Severity::Error,
    };
    proto::Event {
        involved_object: Some(proto::ObjectRef {
            api_version: involved.api_version.clone(),
            kind: involved.kind.clone(),
            namespace: involved.namespace.clone(),
            name: involved.name.clone(),
            uid: involved.uid.clone(),
            resource_version: involved.resource_version.clone(),
        }),
        severity: severity.into(),
        timestamp: Some(weir_proto::Timestamp {
            seconds: event.timestamp.as_second(),
            nanos: event.timestamp.subsec_nanosecond(),
        }),
        message: event.message.clone(),
        reason: event.reason.clone(),
        metadata: event.metadata.clone().into_iter().collect(),
        reporting_controller: event.reporting_controller.clone(),
        reporting_instance: event.reporting_instance.clone(),
    }
}
