//! The way through an HTTP proxy: `CONNECT`, then the host's bytes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::ExposeSecret;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use weir_http::Proxy;

use super::failed;
use crate::error::SshError;

pub(super) const DEFAULT_PORT: u16 = 80;
/// Bytes of the proxy's answer; real ones have a few lines.
const MAX_ANSWER: usize = 8 * 1024;

/// Asks `proxy` for a connection to `host`.
pub(super) async fn ask(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    proxy: &Proxy,
    host: &str,
    port: u16,
    broken: impl Fn(std::io::Error) -> SshError,
) -> Result<(), SshError> {
    let target = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
    let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n");
    if let Some((user, password)) = &proxy.credentials {
        let login = STANDARD.encode(format!("{user}:{}", password.expose_secret()));
        request.push_str(&format!("Proxy-Authorization: Basic {login}\r\n"));
    }
    request.push_str("\r\n");
    stream.write_all(request.as_bytes()).await.map_err(&broken)?;
    let answer = answer(stream).await.map_err(&broken)?;
    let status = answer.lines().next().unwrap_or_default();
    match status.split(' ').nth(1) {
        Some("200") => Ok(()),
        _ => Err(failed(format!("proxy: {}", status.escape_default()))),
    }
}

/// The head of the answer and not one byte more: what follows is the host's.
async fn answer(stream: &mut (impl AsyncRead + Unpin)) -> std::io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == MAX_ANSWER {
            return Err(std::io::Error::other(format!("the answer has more than {MAX_ANSWER} bytes")));
        }
        head.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}
