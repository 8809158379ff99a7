//! A proxy that spoils what passes: for tests of what a client does when a server is slow, lies or breaks off.

mod http;
mod spoil;
mod tcp;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use crate::connection::{listen, serve_each};
use crate::{ControlPlane, Error};

/// The fault in a connection. Offsets count the bytes of the answer's body (HTTP) or of everything that the server
/// sends (TCP).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fault {
    /// Everything passes.
    #[default]
    None,
    /// The answer comes later.
    Delay(Duration),
    /// The connection ends after this many bytes.
    CutAfter(u64),
    /// After this many bytes nothing more comes, and the connection stays.
    StallAfter(u64),
    /// The byte at this offset is another one.
    CorruptAt(u64),
    /// The server is not asked: it has this status, and `Retry-After` in seconds if given. HTTP only.
    Status(u16, Option<u32>),
    /// The server is not asked: the answer has this status and this JSON. HTTP only.
    Answer(u16, &'static str),
    /// The answer's `Content-Length` is so much more (or less) than there is. HTTP only.
    ContentLength(i64),
    /// Connections are closed as soon as they are made, and those that are open are cut: the server is away.
    Away,
    /// The server goes away in the middle: when this many bytes of all connections, in both directions, have passed.
    /// TCP only.
    AwayAfter(u64),
    /// Connections are taken and nothing is ever answered.
    Silent,
}

/// A fault and the requests that it applies to.
#[derive(Debug, Clone, Default)]
struct Plan {
    fault: Fault,
    /// A part that the request line must have; empty for all. HTTP only.
    part: String,
    /// Number of times; none for always.
    left: Option<usize>,
    /// Bytes that have passed since the plan was made, in both directions. TCP only.
    passed: u64,
}

/// A proxy in front of one server, which forwards everything until it gets a fault.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    _task: JoinSet<()>,
}

#[derive(Debug)]
struct Shared {
    upstream: Mutex<String>,
    /// Speaks TLS with the server, where it asks for it.
    tls: Option<Arc<ClientConfig>>,
    plan: Mutex<Plan>,
    requests: watch::Sender<Vec<String>>,
    /// Changes when all connections are to be cut.
    epoch: watch::Sender<u64>,
}

impl FaultProxy {
    /// A proxy that understands HTTP/1.1 without TLS; `upstream` is `host:port`. The `Host` header stays the proxy's.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn http(upstream: &str) -> Result<Self, Error> {
        Self::start(upstream, true, None).await
    }

    /// A proxy in front of an API server, which is spoken to without TLS: [`ControlPlane::kubeconfig_with`] leads there.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn api_server(plane: &ControlPlane) -> Result<Self, Error> {
        let upstream = plane.server().trim_start_matches("https://");
        Self::start(upstream, true, Some(plane.tls_config()?)).await
    }

    /// A proxy for any protocol over TCP.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn tcp(upstream: &str) -> Result<Self, Error> {
        Self::start(upstream, false, None).await
    }

    /// A proxy for any protocol over TCP that listens on another address of this machine than the loopback one.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn tcp_at(address: Ipv4Addr, upstream: &str) -> Result<Self, Error> {
        Self::start_at(address, upstream, false, None).await
    }

    /// No server at all: connections are taken and counted, and nothing is ever answered.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn silent() -> Result<Self, Error> {
        let proxy = Self::tcp("nobody").await?;
        proxy.set(Fault::Silent);
        Ok(proxy)
    }

    async fn start(upstream: &str, is_http: bool, tls: Option<Arc<ClientConfig>>) -> Result<Self, Error> {
        Self::start_at(Ipv4Addr::LOCALHOST, upstream, is_http, tls).await
    }

    async fn start_at(
        own: Ipv4Addr,
        upstream: &str,
        is_http: bool,
        tls: Option<Arc<ClientConfig>>,
    ) -> Result<Self, Error> {
        let (listener, address) = listen(own).await?;
        let shared = Arc::new(Shared {
            upstream: Mutex::new(upstream.to_owned()),
            tls,
            plan: Mutex::default(),
            requests: watch::Sender::default(),
            epoch: watch::Sender::new(0),
        });
        let mut task = JoinSet::new();
        let served = shared.clone();
        let serve_client = move |client| serve(client, served.clone(), served.epoch.subscribe(), is_http);
        task.spawn(serve_each(listener, serve_client));
        Ok(Self { address, shared, _task: task })
    }

    /// `host:port` of the proxy.
    #[must_use]
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// A URL of the server as one that leads through the proxy.
    #[must_use]
    pub fn url(&self, url: &str) -> String {
        url.replace(&*self.shared.upstream.lock(), &self.address())
    }

    /// From now on every connection has this fault.
    pub fn set(&self, fault: Fault) {
        self.shared.plan(Plan { fault, ..Plan::default() });
    }

    /// The next `times` requests whose request line holds `part` have this fault, everything else passes.
    pub fn set_for(&self, part: &str, times: usize, fault: Fault) {
        self.shared.plan(Plan { fault, part: part.to_owned(), left: Some(times), passed: 0 });
    }

    /// Another server stands behind the proxy from now on; connections to the former one are cut.
    pub fn redirect(&self, upstream: &str) {
        *self.shared.upstream.lock() = upstream.to_owned();
        self.shared.epoch.send_modify(|epoch| *epoch += 1);
    }

    /// Returns how many bytes have passed in both directions since a fault was last set. TCP only.
    #[must_use]
    pub fn passed(&self) -> u64 {
        self.shared.plan.lock().passed
    }

    /// Returns true when the server is away, by [`Fault::Away`] or since [`Fault::AwayAfter`] was reached.
    #[must_use]
    pub fn is_away(&self) -> bool {
        self.shared.plan.lock().fault == Fault::Away
    }

    /// Request lines so far (HTTP), or an empty one for each connection (TCP), those included that met a fault.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        self.shared.requests.borrow().clone()
    }

    /// Waits until so many requests have come whose line holds `part`, those included that met a fault.
    ///
    /// # Errors
    /// [`Error::Deadline`].
    pub async fn wait_for(&self, part: &str, times: usize, deadline: Duration) -> Result<(), Error> {
        let mut requests = self.shared.requests.subscribe();
        let come =
            requests.wait_for(|lines| lines.iter().filter(|line| line.contains(part)).count() >= times);
        let come = tokio::time::timeout(deadline, come).await.is_ok_and(|come| come.is_ok());
        let what = format!("{times} requests with {part}");
        if come { Ok(()) } else { Err(Error::Deadline { what, deadline, last: self.requests().join("\n") }) }
    }

    /// Starts counting anew.
    pub fn forget_requests(&self) {
        self.shared.requests.send_replace(Vec::new());
    }
}

/// A connection to the server.
trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<C: AsyncRead + AsyncWrite + Send + Unpin> Connection for C {}

impl Shared {
    /// Takes up a plan; one without a server cuts what is open.
    fn plan(&self, plan: Plan) {
        let is_away = plan.fault == Fault::Away;
        *self.plan.lock() = plan;
        if is_away {
            self.epoch.send_modify(|epoch| *epoch += 1);
        }
    }

    /// Counts bytes that are to pass; returns how many of them may.
    fn admit(&self, count: usize) -> usize {
        let mut plan = self.plan.lock();
        let admitted = match plan.fault {
            Fault::AwayAfter(limit) => {
                usize::try_from(limit.saturating_sub(plan.passed)).map_or(count, |left| left.min(count))
            }
            _ => count,
        };
        plan.passed += admitted as u64;
        admitted
    }

    async fn connect(&self) -> std::io::Result<Box<dyn Connection>> {
        let upstream = self.upstream.lock().clone();
        let server = TcpStream::connect(upstream).await?;
        let Some(tls) = self.tls.clone() else { return Ok(Box::new(server)) };
        let name = ServerName::IpAddress(Ipv4Addr::LOCALHOST.into());
        Ok(Box::new(TlsConnector::from(tls).connect(name, server).await?))
    }

    fn note(&self, line: String) {
        self.requests.send_modify(|lines| lines.push(line));
    }

    /// The fault of a request; uses up one of those that are left.
    fn fault(&self, line: &str) -> Fault {
        let mut plan = self.plan.lock();
        if !line.contains(&plan.part) || plan.left == Some(0) {
            return Fault::None;
        }
        plan.left = plan.left.map(|left| left - 1);
        plan.fault
    }
}

/// Serves a connection until it ends or is cut. `epoch` has been listened to since it was accepted, so that no cut is missed.
async fn serve(
    client: TcpStream,
    shared: Arc<Shared>,
    mut epoch: watch::Receiver<u64>,
    is_http: bool,
) -> std::io::Result<()> {
    let serve = async {
        if is_http { http::serve(client, &shared).await } else { tcp::serve(client, &shared).await }
    };
    tokio::select! {
        served = serve => served,
        _ = epoch.changed() => Ok(()),
    }
}
