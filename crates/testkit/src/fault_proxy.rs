//! A proxy that spoils what passes: for tests of what a client does when a server is slow, lies or breaks off.

mod http;
mod spoil;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::Error;
use spoil::pump;

/// What is done to a connection. Offsets count the bytes of the answer's body (HTTP) or of all the server says (TCP).
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
    /// The answer's `Content-Length` is so much more (or less) than there is. HTTP only.
    ContentLength(i64),
    /// Connections are closed as soon as they are made, and those that are open are cut: the server is away.
    Away,
    /// Connections are taken and nothing is ever answered.
    Silent,
}

/// Where a fault applies.
#[derive(Debug, Clone)]
struct Plan {
    fault: Fault,
    /// A part that the request line must have; empty for all. HTTP only.
    part: String,
    /// How often; none for always.
    left: Option<usize>,
}

/// A proxy in front of one server, which forwards everything until it is told a fault.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    _task: JoinSet<()>,
}

#[derive(Debug)]
struct Shared {
    upstream: Mutex<String>,
    plan: Mutex<Plan>,
    requests: Mutex<Vec<String>>,
    /// Changes when all connections are to be cut.
    epoch: watch::Sender<u64>,
}

impl FaultProxy {
    /// A proxy that understands HTTP/1.1 without TLS; `upstream` is `host:port`. The `Host` header stays the proxy's.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn http(upstream: &str) -> Result<Self, Error> {
        Self::start(upstream, true).await
    }

    /// A proxy for any protocol over TCP.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn tcp(upstream: &str) -> Result<Self, Error> {
        Self::start(upstream, false).await
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

    async fn start(upstream: &str, is_http: bool) -> Result<Self, Error> {
        let failed = |source| Error::Listen { address: "127.0.0.1:0".into(), source };
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let plan = Plan { fault: Fault::None, part: String::new(), left: None };
        let shared = Arc::new(Shared {
            upstream: Mutex::new(upstream.to_owned()),
            plan: Mutex::new(plan),
            requests: Mutex::default(),
            epoch: watch::Sender::new(0),
        });
        let mut task = JoinSet::new();
        task.spawn(accept(listener, shared.clone(), is_http));
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
        self.plan(Plan { fault, part: String::new(), left: None });
    }

    /// The next `times` requests whose request line holds `part` have this fault, everything else passes.
    pub fn set_for(&self, part: &str, times: usize, fault: Fault) {
        self.plan(Plan { fault, part: part.to_owned(), left: Some(times) });
    }

    /// Another server stands behind the proxy from now on; connections to the former one are cut.
    pub fn redirect(&self, upstream: &str) {
        *self.shared.upstream.lock() = upstream.to_owned();
        self.shared.epoch.send_modify(|epoch| *epoch += 1);
    }

    fn plan(&self, plan: Plan) {
        let is_away = plan.fault == Fault::Away;
        *self.shared.plan.lock() = plan;
        if is_away {
            self.shared.epoch.send_modify(|epoch| *epoch += 1);
        }
    }

    /// Request lines so far (HTTP), or an empty one for each connection (TCP), those included that met a fault.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        self.shared.requests.lock().clone()
    }

    /// Starts counting anew.
    pub fn forget_requests(&self) {
        self.shared.requests.lock().clear();
    }
}

impl Shared {
    async fn connect(&self) -> std::io::Result<TcpStream> {
        let upstream = self.upstream.lock().clone();
        TcpStream::connect(upstream).await
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

async fn accept(listener: TcpListener, shared: Arc<Shared>, is_http: bool) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let (shared, mut epoch) = (shared.clone(), shared.epoch.subscribe());
        connections.spawn(async move {
            let serve = async {
                // A connection that breaks is what the proxy is for.
                let _ = if is_http { http::serve(client, &shared).await } else { tcp(client, &shared).await };
            };
            tokio::select! {
                () = serve => {}
                _ = epoch.changed() => {}
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn tcp(mut client: TcpStream, shared: &Shared) -> std::io::Result<()> {
    shared.requests.lock().push(String::new());
    let fault = shared.fault("");
    match fault {
        Fault::Away => return Ok(()),
        Fault::Silent => return std::future::pending().await,
        Fault::Delay(time) => tokio::time::sleep(time).await,
        _ => {}
    }
    let mut server = shared.connect().await?;
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let upwards = async {
        tokio::io::copy(&mut from_client, &mut to_server).await?;
        to_server.shutdown().await
    };
    let downwards = async {
        pump(&[], &mut from_server, &mut to_client, fault).await?;
        to_client.shutdown().await
    };
    // A server that has said all ends the connection, whatever the client still wants to say.
    tokio::select! {
        result = downwards => result,
        Err(error) = upwards => Err(error),
    }
}
