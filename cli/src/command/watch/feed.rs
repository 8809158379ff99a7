//! The stream of changes: authenticated, and taken up again where it broke off.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use futures::{Stream, StreamExt, stream};
use secrecy::{ExposeSecret, SecretString};
use tonic::codegen::InterceptedService;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Status, Streaming};
use weir_proto::status::v1::status_client::StatusClient;
use weir_proto::status::v1::{WatchRequest, WatchResponse};

use super::mirror::Mirror;
use super::outage::Outage;
use super::services::Way;
use crate::error::Error;
use crate::input;

/// Changes that are drawn together, so that a burst is one redraw.
pub(super) const BURST: usize = 256;

/// Pause before a stream that broke off is taken up again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Finds a peer that has gone away without a word within half a minute.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// The objects to follow; empty is everything.
#[derive(Debug, Clone)]
pub(super) struct Selection {
    pub(super) kind: String,
    pub(super) namespace: String,
    pub(super) name: String,
}

/// A source of changes.
pub(super) struct Feed {
    client: StatusClient<InterceptedService<Channel, Bearer>>,
    address: String,
    selection: Selection,
}

/// Shows the user's token to the services.
#[derive(Clone)]
struct Bearer(MetadataValue<Ascii>);

impl tonic::service::Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request.metadata_mut().insert("authorization", self.0.clone());
        Ok(request)
    }
}

impl Feed {
    /// Prepares a connection; nothing is sent yet.
    pub(super) fn connect(
        way: &Way,
        ca: Option<&Path>,
        token: SecretString,
        selection: Selection,
    ) -> Result<Self, Error> {
        let address = way.name();
        let refused = |cause| Error::GrpcAddress { address: address.clone(), cause };
        // Services found in the cluster speak TLS where an authority is named.
        let scheme = if ca.is_some() { "https" } else { "http" };
        let url = if address.contains("://") { address.clone() } else { format!("{scheme}://{address}") };
        let mut endpoint = Endpoint::from_shared(url)
            .map_err(refused)?
            .http2_keep_alive_interval(KEEPALIVE)
            .keep_alive_while_idle(true);
        if endpoint.uri().scheme_str() == Some("https") {
            let mut tls = ClientTlsConfig::new();
            if let Some(path) = ca {
                tls = tls.ca_certificate(Certificate::from_pem(input::text(path)?));
            }
            endpoint = endpoint.tls_config(tls).map_err(refused)?;
        }
        let mut value = MetadataValue::try_from(format!("Bearer {}", token.expose_secret()))
            .map_err(|_| Error::NoToken)?;
        value.set_sensitive(true);
        let client = StatusClient::with_interceptor(way.channel(&endpoint), Bearer(value));
        Ok(Self { client, address, selection })
    }

    /// The changes. The first connection must come up within `patience`; later ones are tried until they do.
    pub(super) fn changes(self, patience: Duration) -> impl Stream<Item = Result<WatchResponse, Error>> {
        let state = State {
            feed: self,
            stream: None,
            mirror: Mirror::default(),
            ready: VecDeque::new(),
            patience: Some(patience),
            outage: Outage::default(),
        };
        stream::try_unfold(state, |mut state| async { Ok(Some((state.next().await?, state))) })
    }

    async fn open(&self, resource_version: String) -> Result<Streaming<WatchResponse>, Status> {
        let Selection { kind, namespace, name } = self.selection.clone();
        let request = WatchRequest { kind, namespace, name, resource_version };
        self.client.clone().watch(request).await.map(tonic::Response::into_inner)
    }
}

struct State {
    feed: Feed,
    stream: Option<Streaming<WatchResponse>>,
    mirror: Mirror,
    /// Changes that have been taken in and not yet passed on.
    ready: VecDeque<WatchResponse>,
    /// Time for the first answer; `None` once there was one.
    patience: Option<Duration>,
    outage: Outage,
}

impl State {
    async fn next(&mut self) -> Result<WatchResponse, Error> {
        loop {
            if let Some(change) = self.ready.pop_front() {
                return Ok(change);
            }
            let status = match &mut self.stream {
                None => match self.open().await {
                    Ok(stream) => {
                        self.outage.works(&self.feed.address);
                        self.stream = Some(stream);
                        continue;
                    }
                    Err(status) => status,
                },
                Some(stream) => match stream.next().await {
                    Some(Ok(change)) => {
                        self.ready.extend(self.mirror.take(change));
                        continue;
                    }
                    Some(Err(status)) => status,
                    None => Status::unavailable("the stream has ended"),
                },
            };
            self.stream = None;
            if status.code() == Code::OutOfRange && !self.mirror.version().is_empty() {
                self.mirror.begin_anew();
                continue;
            }
            if self.patience.is_some() || !may_be_tried_again(&status) {
                return Err(Error::Grpc { address: self.feed.address.clone(), status: Box::new(status) });
            }
            self.outage.failed(&self.feed.address, status.message());
            #[expect(clippy::disallowed_methods, reason = "a command is no run")]
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }

    async fn open(&mut self) -> Result<Streaming<WatchResponse>, Status> {
        let version = self.mirror.version().to_owned();
        if version.is_empty() {
            self.mirror.begin_anew();
        }
        let opening = self.feed.open(version);
        let opened = match self.patience {
            Some(patience) => tokio::time::timeout(patience, opening).await,
            None => Ok(opening.await),
        };
        let stream = opened.map_err(|_| Status::deadline_exceeded("no answer in time"))??;
        self.patience = None;
        Ok(stream)
    }
}

/// The service restarts, or the connection is gone.
fn may_be_tried_again(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::Unavailable | Code::ResourceExhausted | Code::OutOfRange | Code::Unknown | Code::Internal
    )
}
