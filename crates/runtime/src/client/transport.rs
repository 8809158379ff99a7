//! The lowest part of every client of a Kubernetes API server: connections, TLS, credentials. It is put together from the layers of
//! kube's own, without tracing, because kube has no setting for one option of the sockets. Each request in flight has a connection of
//! HTTP/1.1: one of HTTP/2 for all but watches took no less memory, and more work on both sides (docs/benchmarks-log.md, 2026-11-30).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Response, Uri};
use http_body_util::BodyExt;
use hyper_rustls::MaybeHttpsStream;
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::Config;
use kube::client::{Body, ClientBuilder, ConfigExt, DynBody};
use tokio::net::TcpStream;
use tower::retry::RetryLayer;
use tower::util::{BoxCloneSyncService, BoxService};
use tower::{BoxError, Service, ServiceBuilder, ServiceExt};
use tower_http::decompression::DecompressionLayer;

use super::busy::WhenAsked;
use super::tls;

/// Sends requests to one API server.
pub type Transport = BoxService<http::Request<Body>, Response<Box<DynBody>>, BoxError>;

/// Opens connections to one API server, below its TLS.
pub(super) type Way = BoxCloneSyncService<Uri, MaybeHttpsStream<TokioIo<TcpStream>>, BoxError>;

/// Starts a client.
///
/// # Errors
///
/// When the configuration's certificates or credentials are not usable, or the proxy is of an unknown kind.
pub fn builder(config: Config) -> kube::Result<ClientBuilder<Transport>> {
    crate::service::install_crypto();
    let mut connector = TimeoutConnector::new(tls::over(&config, way(&config)?)?);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    connector.set_reset_reader_on_write(config.reset_reader_on_write);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .layer(DecompressionLayer::new().gzip(!config.disable_compression))
        .option_layer(config.default_retry.then(|| RetryLayer::new(WhenAsked::default())))
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(Client::builder(TokioExecutor::new()).build(connector))
        .map_response(|answer: Response<_>| {
            answer.map(|body| Box::new(body.map_err(BoxError::from)) as Box<DynBody>)
        });
    Ok(ClientBuilder::new(service.boxed(), config.default_namespace))
}

/// Opens connections to an API server, through the proxy that the configuration names.
///
/// # Errors
///
/// When the proxy is of an unknown kind, or TLS to it cannot be set up.
pub(super) fn way(config: &Config) -> kube::Result<Way> {
    let Some(proxy) = &config.proxy_url else { return Ok(plain(tcp())) };
    Ok(match proxy.scheme_str() {
        Some("http") => plain(tunnel(proxy, tcp())),
        Some("https") => {
            BoxCloneSyncService::new(tunnel(proxy, tls::over(config, tcp())?).map_err(BoxError::from))
        }
        Some("socks5") => plain(socks(proxy, tcp())),
        // The error is shown in conditions.
        _ => return Err(kube::Error::ProxyProtocolUnsupported { proxy_url: Box::new(without_user(proxy)) }),
    })
}

/// Returns the address without user and password.
fn without_user(proxy: &Uri) -> Uri {
    let mut parts = proxy.clone().into_parts();
    let host = proxy.authority().and_then(|authority| authority.as_str().rsplit('@').next()?.parse().ok());
    parts.authority = host;
    Uri::from_parts(parts).unwrap_or_default()
}

/// Returns the user and the password that stand in the address, without escapes.
fn credentials(proxy: &Uri) -> Option<(String, String)> {
    let (user, _) = proxy.authority()?.as_str().rsplit_once('@')?;
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    let decoded = |text| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
    Some((decoded(name), decoded(password)))
}

/// Opens connections through a SOCKS5 proxy, with the user of its address.
fn socks<C>(proxy: &Uri, connector: C) -> SocksV5<C> {
    let socks = SocksV5::new(proxy.clone(), connector);
    match credentials(proxy) {
        Some((name, password)) => socks.with_auth(name, password),
        None => socks,
    }
}

fn plain<C>(connector: C) -> Way
where
    C: Service<Uri, Response = TokioIo<TcpStream>> + Clone + Send + Sync + 'static,
    C::Future: Send + 'static,
    C::Error: Into<BoxError> + 'static,
{
    BoxCloneSyncService::new(connector.map_response(MaybeHttpsStream::Http).map_err(Into::<BoxError>::into))
}

/// Opens connections through an HTTP proxy, with the user of its address.
fn tunnel<C>(proxy: &Uri, connector: C) -> Tunnel<C> {
    let tunnel = Tunnel::new(proxy.clone(), connector);
    let header = credentials(proxy).map(|(name, password)| {
        HeaderValue::try_from(format!("Basic {}", STANDARD.encode(format!("{name}:{password}"))))
    });
    match header {
        Some(Ok(header)) => tunnel.with_auth(header),
        _ => tunnel,
    }
}

/// Opens TCP connections that send each request at once. By default the system holds back what is sent after a handshake until
/// the other side has acknowledged the handshake, which it puts off for 40 ms.
fn tcp() -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    #[tokio::test]
    async fn connections_hold_nothing_back() {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("https://{}", server.local_addr().unwrap()).parse().unwrap();
        let connection = tcp().oneshot(address).await.unwrap();
        assert!(connection.into_inner().nodelay().unwrap());
    }

    async fn read_head(stream: &mut TcpStream) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        String::from_utf8(head).unwrap()
    }

    #[test]
    fn a_proxy_that_is_not_known_is_told_without_its_password() {
        let mut config = Config::new("http://api.example".parse().unwrap());
        config.proxy_url = Some("socks4://user:secret@proxy.example:1080/".parse().unwrap());
        let error = way(&config).err().unwrap().to_string();
        assert!(error.contains("socks4://proxy.example:1080/") && !error.contains("secret"), "{error}");
    }

    /// A SOCKS proxy learns the user of its address, without escapes (RFC 1929).
    #[tokio::test]
    async fn a_socks_proxy_gets_the_user_of_its_address() {
        let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("socks5://me:p%40ss@{}", proxy.local_addr().unwrap());
        let mut connector = socks(&address.parse().unwrap(), tcp());
        let asked = async move {
            let (mut stream, _) = proxy.accept().await.unwrap();
            let mut greeting = [0; 2];
            stream.read_exact(&mut greeting).await.unwrap();
            let mut methods = vec![0; greeting[1].into()];
            stream.read_exact(&mut methods).await.unwrap();
            stream.write_all(&[5, 2]).await.unwrap();
            let mut login = [0; 9];
            stream.read_exact(&mut login).await.unwrap();
            (methods.contains(&2), login)
        };
        let to = "http://api.example".parse().unwrap();
        let (connected, (has_login, login)) = tokio::join!(connector.call(to), asked);
        assert!(connected.is_err(), "the proxy has hung up");
        assert!(has_login);
        assert_eq!(&login, b"\x01\x02me\x04p@ss");
    }

    /// The colon is there without a password, too (RFC 7617).
    #[rstest::rstest]
    #[case("me:p%40ss", "me:p@ss")]
    #[case("me", "me:")]
    #[case(":p", ":p")]
    #[tokio::test]
    async fn an_http_proxy_gets_the_user_of_its_address(#[case] user: &str, #[case] expected: &str) {
        let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{user}@{}", proxy.local_addr().unwrap());
        let mut connector = tunnel(&address.parse().unwrap(), tcp());
        let asked = async move {
            let (mut stream, _) = proxy.accept().await.unwrap();
            read_head(&mut stream).await
        };
        let (connected, head) = tokio::join!(connector.call("http://api.example".parse().unwrap()), asked);
        assert!(connected.is_err(), "the proxy has hung up");
        let header = format!("\r\nProxy-Authorization: Basic {}\r\n", STANDARD.encode(expected));
        assert!(head.contains(&header), "{head}");
    }

    /// KS-IMP-5
    #[tokio::test]
    async fn a_proxy_changes_nothing_about_what_is_sent_again() {
        let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut config = Config::new("http://api.example".parse().unwrap());
        config.proxy_url = Some(format!("http://{}", proxy.local_addr().unwrap()).parse().unwrap());
        let served = async move {
            for answer in ["429 Too Many Requests\r\nRetry-After: 0", "503 Service Unavailable"] {
                let (mut stream, _) = proxy.accept().await.unwrap();
                read_head(&mut stream).await;
                stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
                read_head(&mut stream).await;
                let answer = format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        };
        let client = builder(config).unwrap().build();
        let request = http::Request::get("/version").body(Body::empty()).unwrap();
        let (answer, ()) = tokio::join!(client.send(request), served);
        assert_eq!(answer.unwrap().status(), 503, "nobody has asked to send it a third time");
    }
}
