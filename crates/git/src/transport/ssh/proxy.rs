//! The way to a host behind a proxy (SRC-GIT-30): the object's own, or that of the environment. The libraries for it
//! are made for HTTP, where the client sends first: they drop bytes that the server sends right behind the proxy's
//! answer, and with SSH those are the server's greeting.

mod http;
mod socks;

use hyper_util::client::proxy::matcher::Matcher;
use tokio::net::TcpStream;
use url::Url;
use weir_http::Proxy;

use crate::error::SshError;

/// A connection to `host` by way of `proxy`.
pub(super) async fn connect(proxy: &Proxy, host: &str, port: u16) -> Result<TcpStream, SshError> {
    match proxy.address.scheme() {
        "socks5" | "socks5h" => socks::connect(proxy, host, port).await,
        "http" => http::connect(proxy, host, port).await,
        scheme => Err(failed(format!("proxy: unknown scheme: {scheme}"))),
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
fn place(proxy: &Proxy, default_port: u16) -> (&str, u16) {
    let host = proxy.address.host_str().unwrap_or_default().trim_matches(['[', ']']);
    (host, proxy.address.port().unwrap_or(default_port))
}

fn failed(reason: String) -> SshError {
    SshError::Connect { reason }
}

#[cfg(test)]
mod tests;
