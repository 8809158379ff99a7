//! A proxy that leads host names of the Internet to servers of the test: HTTP (CONNECT and plain) and SOCKS5 on one port.

mod socks;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use tokio::io::{AsyncWriteExt, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::Error;
use crate::connection::{listen, read_head, serve_each};

/// First byte of a SOCKS5 client.
const SOCKS5: u8 = 5;

/// A request that came to the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxied {
    /// `CONNECT`, the method of a plain request, or `SOCKS5`.
    pub method: String,
    /// Target `host:port`.
    pub target: String,
}

/// A running proxy; dropping it ends it. Hosts that it does not know are refused, so that no test leaves this machine.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    state: Arc<State>,
    _task: JoinSet<()>,
}

#[derive(Debug)]
struct State {
    routes: BTreeMap<String, SocketAddr>,
    credentials: Option<(String, String)>,
    requests: Mutex<Vec<Proxied>>,
}

impl Proxy {
    /// A proxy that leads each `host:port` to an address. Loopback addresses lead to themselves.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn start(routes: &[(&str, SocketAddr)]) -> Result<Self, Error> {
        Self::start_with(routes, None).await
    }

    /// A proxy that asks for a user and a password.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn start_with_password(
        routes: &[(&str, SocketAddr)],
        user: &str,
        password: &str,
    ) -> Result<Self, Error> {
        Self::start_with(routes, Some((user.to_owned(), password.to_owned()))).await
    }

    async fn start_with(
        routes: &[(&str, SocketAddr)],
        credentials: Option<(String, String)>,
    ) -> Result<Self, Error> {
        let (listener, address) = listen(Ipv4Addr::LOCALHOST).await?;
        let routes = routes.iter().map(|(host, address)| ((*host).to_owned(), *address)).collect();
        let state = Arc::new(State { routes, credentials, requests: Mutex::default() });
        let mut task = JoinSet::new();
        let shared = state.clone();
        task.spawn(serve_each(listener, move |client| serve(client, shared.clone())));
        Ok(Self { address, state, _task: task })
    }

    /// Address at which it listens; `http://` or `socks5://` before it makes the URL of a proxy.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the requests so far, refused ones too.
    #[must_use]
    pub fn requests(&self) -> Vec<Proxied> {
        self.state.requests.lock().clone()
    }
}

async fn serve(mut client: TcpStream, state: Arc<State>) -> std::io::Result<()> {
    let mut first = [0];
    client.peek(&mut first).await?;
    if first == [SOCKS5] { socks::serve(client, &state).await } else { http(&mut client, &state).await }
}

async fn http(client: &mut TcpStream, state: &State) -> std::io::Result<()> {
    let (head, rest) = read_head(client, Vec::new()).await?;
    let head = head.trim_end();
    let (line, headers) = head.split_once("\r\n").unwrap_or((head, ""));
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (place, path) = match target.strip_prefix("http://") {
        Some(target) => {
            let (host, path) = target.split_once('/').unwrap_or((target, ""));
            (if host.contains(':') { host.to_owned() } else { format!("{host}:80") }, format!("/{path}"))
        }
        None => (target.to_owned(), String::new()),
    };
    if !state.admits(headers) {
        state.note(method, &place);
        return client.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n").await;
    }
    let Some(mut server) = state.connect(method, &place).await else {
        return client.write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n").await;
    };
    if method == "CONNECT" {
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    } else {
        // One request per connection: the next one may be for another host.
        let kept = headers.split("\r\n").filter(|header| {
            let name = header.split(':').next().unwrap_or_default().to_ascii_lowercase();
            !matches!(name.as_str(), "connection" | "proxy-connection" | "proxy-authorization")
        });
        let kept: Vec<&str> = kept.collect();
        let head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n{}\r\n\r\n", kept.join("\r\n"));
        server.write_all(head.as_bytes()).await?;
    }
    server.write_all(&rest).await?;
    copy_bidirectional(client, &mut server).await.map(drop)
}

impl State {
    fn admits(&self, headers: &str) -> bool {
        let Some((user, password)) = &self.credentials else { return true };
        let expected = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
        headers
            .split("\r\n")
            .filter_map(|header| header.split_once(':'))
            .any(|(name, value)| name.eq_ignore_ascii_case("proxy-authorization") && value.trim() == expected)
    }

    fn note(&self, method: &str, target: &str) {
        self.requests.lock().push(Proxied { method: method.to_owned(), target: target.to_owned() });
    }

    async fn connect(&self, method: &str, target: &str) -> Option<TcpStream> {
        self.note(method, target);
        let own = || target.parse().ok().filter(|address: &SocketAddr| address.ip().is_loopback());
        let address = self.routes.get(target).copied().or_else(own)?;
        TcpStream::connect(address).await.ok()
    }
}
