//! A connection through a SOCKS5 proxy (RFC 1928, RFC 1929; SRC-GIT-30). The proxy resolves the name: in networks that
//! need a proxy, this machine often cannot.

use std::net::IpAddr;

use secrecy::ExposeSecret;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use weir_http::Proxy;

use super::failed;
use crate::error::SshError;

pub(super) const DEFAULT_PORT: u16 = 1080;
const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const PASSWORD: u8 = 2;
/// Version of the exchange of user and password.
const PASSWORD_VERSION: u8 = 1;
const CONNECT: u8 = 1;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// Asks `proxy` for a connection to `host`.
pub(super) async fn ask(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    proxy: &Proxy,
    host: &str,
    port: u16,
    broken: impl Fn(std::io::Error) -> SshError,
) -> Result<(), SshError> {
    match agree(stream, proxy).await.map_err(&broken)? {
        NO_AUTHENTICATION => {}
        PASSWORD => authenticate(stream, proxy).await?,
        _ => return Err(failed("socks: no acceptable authentication methods".to_owned())),
    }
    let answer = request(stream, &target(host, port)?).await.map_err(&broken)?;
    if answer == 0 { Ok(()) } else { Err(failed(format!("socks: {}", reason(answer)))) }
}

/// Offers the ways to authenticate; returns the one that the proxy chose.
async fn agree(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), proxy: &Proxy) -> std::io::Result<u8> {
    let offer: &[u8] = match proxy.credentials {
        Some(_) => &[VERSION, 2, NO_AUTHENTICATION, PASSWORD],
        None => &[VERSION, 1, NO_AUTHENTICATION],
    };
    stream.write_all(offer).await?;
    match (stream.read_u8().await?, stream.read_u8().await?) {
        (VERSION, method) => Ok(method),
        (version, _) => Err(std::io::Error::other(format!("unexpected protocol version {version}"))),
    }
}

async fn authenticate(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    proxy: &Proxy,
) -> Result<(), SshError> {
    let Some((user, password)) = &proxy.credentials else {
        return Err(failed("socks: the proxy wants a user and a password".to_owned()));
    };
    let mut message = vec![PASSWORD_VERSION];
    for part in [user.as_str(), password.expose_secret()] {
        let length = u8::try_from(part.len());
        message.push(length.map_err(|_| failed("socks: invalid username/password".to_owned()))?);
        message.extend_from_slice(part.as_bytes());
    }
    let mut exchange = async || -> std::io::Result<u8> {
        stream.write_all(&message).await?;
        stream.read_u8().await?;
        stream.read_u8().await
    };
    match exchange().await {
        Ok(0) => Ok(()),
        Ok(_) => Err(failed("socks: username/password authentication failed".to_owned())),
        Err(error) => Err(failed(format!("socks: {error}"))),
    }
}

/// Asks for a connection; returns the proxy's answer.
async fn request(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), target: &[u8]) -> std::io::Result<u8> {
    stream.write_all(&[VERSION, CONNECT, 0]).await?;
    stream.write_all(target).await?;
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    let [_, answer, _, kind] = head;
    let length = match kind {
        IPV4 => 4,
        IPV6 => 16,
        NAME => usize::from(stream.read_u8().await?),
        _ => return Err(std::io::Error::other(format!("unknown address type {kind}"))),
    };
    // The address of the proxy's own end does not matter, but stands before the first byte of the server.
    let mut bound = [0; 255 + 2];
    let bound = bound.get_mut(..length + 2).unwrap_or_default();
    stream.read_exact(bound).await?;
    Ok(answer)
}

/// Address and port as the protocol writes them.
fn target(host: &str, port: u16) -> Result<Vec<u8>, SshError> {
    let mut target = match host.parse() {
        Ok(IpAddr::V4(address)) => [&[IPV4], address.octets().as_slice()].concat(),
        Ok(IpAddr::V6(address)) => [&[IPV6], address.octets().as_slice()].concat(),
        Err(_) => {
            let length = u8::try_from(host.len());
            let length = length.map_err(|_| failed("socks: FQDN too long".to_owned()))?;
            [&[NAME, length], host.as_bytes()].concat()
        }
    };
    target.extend_from_slice(&port.to_be_bytes());
    Ok(target)
}

fn reason(answer: u8) -> String {
    match answer {
        1 => "general SOCKS server failure".to_owned(),
        2 => "connection not allowed by ruleset".to_owned(),
        3 => "network unreachable".to_owned(),
        4 => "host unreachable".to_owned(),
        5 => "connection refused".to_owned(),
        6 => "TTL expired".to_owned(),
        7 => "command not supported".to_owned(),
        8 => "address type not supported".to_owned(),
        other => format!("unknown code: {other}"),
    }
}
