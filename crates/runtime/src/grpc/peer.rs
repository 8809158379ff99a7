//! Calls to other services: an authenticated channel, and the publishing of events.

use std::sync::Arc;
use std::time::Duration;

use tonic::Status;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use weir_proto::notification::v1::events_client::EventsClient;
use weir_proto::notification::v1::{self as proto, PublishRequest};

use super::authorities::Authorities;
use super::token::{PeerToken, Token};
use crate::args::RuntimeArgs;
use crate::event::{Event, Severity};
use crate::service::ServiceError;

/// Time for a connection to come up, TLS included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Keepalive that finds a dead peer within half a minute.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// A lazy, reconnecting channel to another service; its calls carry the token of this process.
pub type PeerChannel = InterceptedService<Channel, Token>;

/// The way in which this process calls other services: the token that they are shown, and the authorities that it trusts.
#[derive(Clone, Debug)]
pub struct Peers {
    token: PeerToken,
    authorities: Option<Arc<Authorities>>,
}

impl Peers {
    /// The peers of a process that holds all services: a secret that only its own server knows is shown to them.
    pub fn in_process() -> Self {
        Self { token: PeerToken::in_process(), authorities: None }
    }

    /// The peers of a process that is one service (`--peer-token-file`, `--grpc-tls-ca`).
    pub fn of_service(args: &RuntimeArgs) -> Self {
        let authorities = args.grpc_tls_ca.clone().map(|file| Arc::new(Authorities::new(file)));
        Self { token: PeerToken::in_file(args.peer_token_file.clone()), authorities }
    }

    /// Makes a channel to `host:port`. With authorities it is TLS or nothing; there is no way back to plain text.
    ///
    /// # Errors
    ///
    /// [`ServiceError::PeerAddr`] when the address is none.
    pub fn connect(&self, addr: &str) -> Result<PeerChannel, ServiceError> {
        let endpoint = |scheme| {
            Endpoint::from_shared(format!("{scheme}://{addr}"))
                .map_err(|source| ServiceError::PeerAddr { addr: addr.to_owned(), source })
        };
        let plain = endpoint("http")?
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(KEEPALIVE)
            .keep_alive_while_idle(true)
            .tcp_nodelay(true);
        if let Err(error) = self.token.current() {
            tracing::warn!(logger = "setup", %error, addr, "calls of another service over gRPC will fail");
        }
        let channel = match &self.authorities {
            None => plain.connect_lazy(),
            // The connector speaks TLS, so that tonic must not.
            Some(authorities) => plain
                .origin(endpoint("https")?.uri().clone())
                .connect_with_connector_lazy(Arc::clone(authorities).connector()),
        };
        Ok(PeerChannel::new(channel, Token(self.token.clone())))
    }

    /// True for the secret that is shared inside of this process.
    pub(super) fn is_process_secret(&self, token: &str) -> bool {
        self.token.is_process_secret(token)
    }
}

/// The notification service, as a destination of events. Cheap to clone.
#[derive(Clone)]
pub struct EventsPeer {
    client: EventsClient<PeerChannel>,
}

impl EventsPeer {
    /// Makes a client of a channel.
    pub fn new(channel: PeerChannel) -> Self {
        Self { client: EventsClient::new(channel) }
    }

    /// Publishes one event; it is stored when this returns.
    ///
    /// # Errors
    /// As the peer answers.
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
