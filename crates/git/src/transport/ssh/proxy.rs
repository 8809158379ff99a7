//! The way to a host behind a proxy (SRC-GIT-30): the object's own, or that of the environment. The libraries for it
//! are made for HTTP, where the client sends first: they drop bytes that the server sends right behind the proxy's
//! answer, and with SSH those are the server's greeting.

mod http;
mod socks;

use hyper_util::client::proxy::matcher::Matcher;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use url::Url;
use weir_http::Proxy;

use crate::error::SshError;

/// The protocol of a proxy.
#[derive(Clone, Copy)]
enum Protocol {
    Http,
    Socks,
}

impl Protocol {
    fn of(proxy: &Proxy) -> Result<Self, SshError> {
        match proxy.address.scheme() {
            "socks5" | "socks5h" => Ok(Self::Socks),
            "http" => Ok(Self::Http),
            scheme => Err(failed(format!("proxy: unknown scheme: {scheme}"))),
        }
    }

    const fn default_port(self) -> u16 {
        match self {
            Self::Http => http::DEFAULT_PORT,
            Self::Socks => socks::DEFAULT_PORT,
        }
    }

    /// Returns the error of a connection that breaks.
    fn broken(self, (proxy, host, port): (&Proxy, &str, u16), error: &std::io::Error) -> SshError {
        let name = match self {
            Self::Http => "proxy",
            Self::Socks => "socks",
        };
        failed(format!("{name} connect tcp {}->{host}:{port}: {error}", place(proxy, self).0))
    }
}

/// A connection to `host` by way of `proxy`.
pub(super) async fn connect(proxy: &Proxy, host: &str, port: u16) -> Result<TcpStream, SshError> {
    let protocol = Protocol::of(proxy)?;
    let dialed = TcpStream::connect(place(proxy, protocol)).await;
    let mut stream = dialed.map_err(|error| protocol.broken((proxy, host, port), &error))?;
    ask_proxy(&mut stream, proxy, host, port).await?;
    Ok(stream)
}

/// Asks a proxy for a connection to `host`, on the connection to the proxy. The next byte of `stream` is the first of the host.
///
/// # Errors
/// When the proxy refuses, or its answer is not of its protocol.
pub async fn ask_proxy(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    proxy: &Proxy,
    host: &str,
    port: u16,
) -> Result<(), SshError> {
    let protocol = Protocol::of(proxy)?;
    let broken = |error: std::io::Error| protocol.broken((proxy, host, port), &error);
    match protocol {
        Protocol::Http => http::ask(stream, proxy, host, port, broken).await,
        Protocol::Socks => socks::ask(stream, proxy, host, port, broken).await,
    }
}

/// The proxy that the environment wants for `host`: `ALL_PROXY`, unless `NO_PROXY` names the host. Those for HTTP are not
/// meant.
pub(super) fn of_environment(host: &str) -> Option<Proxy> {
    let variable = |names: [&str; 2]| names.into_iter().find_map(|name| std::env::var(name).ok());
    let exceptions = variable(["NO_PROXY", "no_proxy"]).unwrap_or_default();
    choose(&variable(["ALL_PROXY", "all_proxy"])?, &exceptions, host)
}

fn choose(all: &str, exceptions: &str, host: &str) -> Option<Proxy> {
    let matcher = Matcher::builder().all(all).no(exceptions).build();
    // The matcher knows hosts as those of web pages.
    let page = format!("https://{host}/").parse().ok()?;
    matcher.intercept(&page)?;
    let address = if all.contains("://") { Url::parse(all) } else { Url::parse(&format!("http://{all}")) };
    address.ok().map(Proxy::from_url)
}

/// Address of the proxy itself.
fn place(proxy: &Proxy, protocol: Protocol) -> (&str, u16) {
    let host = proxy.address.host_str().unwrap_or_default().trim_matches(['[', ']']);
    (host, proxy.address.port().unwrap_or(protocol.default_port()))
}

fn failed(reason: String) -> SshError {
    SshError::Connect { reason }
}

#[cfg(test)]
mod tests;
