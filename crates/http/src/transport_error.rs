//! Errors of the transport as Go's standard library puts them, which users of Flux know and search for.

use std::error::Error;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};

use rustls::{AlertDescription, CertificateError, InvalidMessage};
use url::Url;

use crate::resolver::LookupError;
use crate::shown::shown;

/// Says why a request to `url` got no answer, for example `dial tcp 127.0.0.1:1: connect: connection refused`. Neither
/// user info nor the query of the URL is repeated.
#[must_use]
pub fn reason(error: &reqwest::Error, url: &Url) -> String {
    if error.is_timeout() {
        return "context deadline exceeded".to_owned();
    }
    let causes = || std::iter::successors(Error::source(error), |cause| (*cause).source());
    let io = causes().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    let dialled = |what: &str| {
        let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default());
        match (causes().find_map(unreached), port) {
            // Another port than the server's is that of the proxy before it.
            (Some(address), Some(port)) if address.port() != port => {
                format!("proxyconnect tcp: dial tcp {address}: connect: {what}")
            }
            (Some(address), _) => format!("dial tcp {address}: connect: {what}"),
            (None, Some(port)) => format!("dial tcp {host}:{port}: connect: {what}"),
            (None, None) => format!("dial tcp {host}: connect: {what}"),
        }
    };
    if let Some(words) = causes()
        .find_map(|cause| tls_error(cause))
        .and_then(|error| tls_reason(error, url.host_str().unwrap_or_default()))
    {
        return words;
    }
    match io.map(std::io::Error::kind) {
        Some(kind) if let Some(words) = not_connected(kind) => dialled(words),
        Some(ErrorKind::ConnectionReset) => "read: connection reset by peer".to_owned(),
        Some(ErrorKind::UnexpectedEof) => "unexpected EOF".to_owned(),
        _ if let Some(name) = causes().find_map(unknown_name) => {
            // A name that is not that of the server, nor of the one that it has led to, is that of the proxy.
            let mut servers = [Some(url), error.url()].into_iter().flatten().filter_map(Url::host_str);
            let at = if servers.any(|server| server == name) { "" } else { "proxyconnect tcp: " };
            format!("{at}dial tcp: lookup {name}: no such host")
        }
        // The last cause has the detail; those above it only report that something failed.
        _ => causes().last().map_or_else(|| alone(error), |cause| in_go(cause.to_string())),
    }
}

/// Returns the reason for which a connection could not be made, as Go puts it; none for errors of other kinds.
#[must_use]
pub fn not_connected(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::ConnectionRefused => Some("connection refused"),
        ErrorKind::NetworkUnreachable => Some("network is unreachable"),
        ErrorKind::HostUnreachable => Some("no route to host"),
        _ => None,
    }
}

/// The address to which no connection could be made. It is the client's secret but for its debug text.
fn unreached(cause: &(dyn Error + 'static)) -> Option<SocketAddr> {
    let shown = format!("{cause:?}");
    let rest = shown.strip_prefix("ConnectError(\"tcp connect error\", ")?;
    rest.split(", ").next()?.parse().ok()
}

/// The name that could not be looked up.
fn unknown_name<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a str> {
    Some(&cause.downcast_ref::<LookupError>()?.name)
}

/// The words of our client's libraries in those of Go's.
fn in_go(words: String) -> String {
    match words.as_str() {
        "connection closed before message completed" | "connection was not ready" => "EOF".to_owned(),
        "tunnel error: proxy authorization required" => "Proxy Authentication Required".to_owned(),
        "failed to parse header value" => {
            "net/http: invalid header field value for \"Authorization\"".to_owned()
        }
        _ => words,
    }
}

/// The words of an error without cause, which repeat where the request was sent.
fn alone(error: &reqwest::Error) -> String {
    let words = error.to_string();
    error.url().map_or_else(|| words.clone(), |url| words.replace(url.as_str(), &shown(url)))
}

/// The TLS error in a cause; I/O errors hide theirs, sometimes twice.
fn tls_error<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let hidden = || tls_error(cause.downcast_ref::<std::io::Error>()?.get_ref()?);
    cause.downcast_ref::<rustls::Error>().or_else(hidden)
}

/// Returns the reason of a failed TLS handshake.
fn tls_reason(error: &rustls::Error, host: &str) -> Option<String> {
    let unverified = |why: String| Some(format!("tls: failed to verify certificate: x509: {why}"));
    let alert = |what: &str| Some(format!("remote error: tls: {what}"));
    match error {
        rustls::Error::InvalidCertificate(error) => match error {
            // Another authority of the same name is as unknown as one that nobody has heard of.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                unverified("certificate signed by unknown authority".to_owned())
            }
            CertificateError::NotValidForName => unverified(format!("certificate is not valid for {host}")),
            CertificateError::NotValidForNameContext { expected, presented } => {
                unverified(other_names(presented, &expected.to_str()))
            }
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => {
                unverified("certificate has expired or is not yet valid".to_owned())
            }
            _ => None,
        },
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            Some("http: server gave HTTP response to HTTPS client".to_owned())
        }
        rustls::Error::AlertReceived(AlertDescription::CertificateRequired) => alert("certificate required"),
        rustls::Error::AlertReceived(AlertDescription::BadCertificate) => alert("bad certificate"),
        rustls::Error::AlertReceived(AlertDescription::UnknownCA) => alert("unknown certificate authority"),
        rustls::Error::AlertReceived(AlertDescription::HandshakeFailure) => alert("handshake failure"),
        rustls::Error::AlertReceived(AlertDescription::DecryptError) => alert("error decrypting message"),
        _ => None,
    }
}

/// Names of a certificate of which a message only has the number, as in Go.
const MANY_NAMES: usize = 100;

/// Says whom a certificate is for that is not for `host`. As in Go, an address is compared with addresses alone, and a name with names.
fn other_names(presented: &[String], host: &str) -> String {
    if presented.is_empty() {
        return "certificate relies on legacy Common Name field, use SANs instead".to_owned();
    }
    let is_address = host.parse::<IpAddr>().is_ok();
    let kind = if is_address { "IpAddress(" } else { "DnsName(" };
    let alike = presented.iter().filter(|name| name.starts_with(kind));
    let names: Vec<&str> = alike.map(|name| bare(name)).collect();
    match names.len() {
        0 if is_address => {
            format!("cannot validate certificate for {host} because it doesn't contain any IP SANs")
        }
        0 => format!("certificate is not valid for any names, but wanted to match {host}"),
        many @ MANY_NAMES.. => {
            let kind = if is_address { "IP SANs" } else { "names" };
            format!("certificate is valid for {many} {kind}, but none matched {host}")
        }
        _ => format!("certificate is valid for {}, not {host}", names.join(", ")),
    }
}

/// `example.com` of `DnsName("example.com")`.
fn bare(name: &str) -> &str {
    name.split_once('(').map_or(name, |(_, rest)| rest.trim_end_matches(')').trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use url::Url;

    use crate::{Clients, Profile};

    #[rstest]
    #[case("http://127.0.0.1:1/x", "dial tcp 127.0.0.1:1: connect: connection refused")]
    #[case("http://name.invalid/x", "dial tcp: lookup name.invalid: no such host")]
    #[tokio::test]
    async fn words(#[case] url: &str, #[case] expected: &str) {
        let client = Clients::new("test").get(&Profile::default()).unwrap();
        let error = client.get(url).send().await.unwrap_err();
        assert_eq!(super::reason(&error, &Url::parse(url).unwrap()), expected);
    }

    /// The proxy is named that refuses, or that nobody knows, and not the server behind it.
    #[rstest]
    #[case("http://127.0.0.1:8/x", "127.0.0.1:1", "dial tcp 127.0.0.1:1: connect: connection refused")]
    #[case("https://127.0.0.1:8/x", "127.0.0.1:1", "dial tcp 127.0.0.1:1: connect: connection refused")]
    #[case("https://server.invalid/x", "proxy.invalid:1", "dial tcp: lookup proxy.invalid: no such host")]
    #[tokio::test]
    async fn a_proxy_that_is_not_reached(#[case] url: &str, #[case] proxy: &str, #[case] reason: &str) {
        let address = Url::parse(&format!("http://{proxy}")).unwrap();
        let profile =
            Profile { proxy: Some(crate::Proxy { address, credentials: None }), ..Profile::default() };
        let error = Clients::new("test").get(&profile).unwrap().get(url).send().await.unwrap_err();
        let expected = format!("proxyconnect tcp: {reason}");
        assert_eq!(super::reason(&error, &Url::parse(url).unwrap()), expected);
    }

    #[rstest]
    #[case::name(&["DnsName(\"a.io\")", "IpAddress(10.0.0.1)", "DnsName(\"b.io\")"], "c.io", "certificate is valid for a.io, b.io, not c.io")]
    #[case::address(&["DnsName(\"a.io\")", "IpAddress(10.0.0.1)"], "10.0.0.2", "certificate is valid for 10.0.0.1, not 10.0.0.2")]
    #[case::no_addresses(&["DnsName(\"a.io\")"], "10.0.0.2",
        "cannot validate certificate for 10.0.0.2 because it doesn't contain any IP SANs")]
    #[case::no_names(&["IpAddress(10.0.0.1)"], "a.io",
        "certificate is not valid for any names, but wanted to match a.io")]
    #[case::nothing(&[], "a.io", "certificate relies on legacy Common Name field, use SANs instead")]
    fn names_of_certificates(#[case] presented: &[&str], #[case] host: &str, #[case] expected: &str) {
        let presented: Vec<_> = presented.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(super::other_names(&presented, host), expected);
    }

    #[rstest]
    #[case("DnsName(\"a.io\")", "b.io", "certificate is valid for 100 names, but none matched b.io")]
    #[case(
        "IpAddress(10.0.0.1)",
        "10.0.0.2",
        "certificate is valid for 100 IP SANs, but none matched 10.0.0.2"
    )]
    fn a_certificate_with_many_names(#[case] name: &str, #[case] host: &str, #[case] expected: &str) {
        assert_eq!(super::other_names(&vec![name.to_owned(); 100], host), expected);
    }

    #[tokio::test]
    async fn a_token_that_is_no_header() {
        let url = "http://127.0.0.1:1/x";
        let client = Clients::new("test").get(&Profile::default()).unwrap();
        let error = client.get(url).bearer_auth("token\n").send().await.unwrap_err();
        let expected = "net/http: invalid header field value for \"Authorization\"";
        assert_eq!(super::reason(&error, &Url::parse(url).unwrap()), expected);
    }

    #[tokio::test]
    async fn a_server_that_hangs_up() {
        let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/x", server.local_addr().unwrap());
        let client = Clients::new("test").get(&Profile::default()).unwrap();
        let hang_up = async {
            loop {
                let mut request = [0; 1024];
                let (mut connection, _) = server.accept().await.unwrap();
                let _ = tokio::io::AsyncReadExt::read(&mut connection, &mut request).await;
            }
        };
        let error = tokio::select! {
            answer = client.get(&url).send() => answer.unwrap_err(),
            () = hang_up => panic!("nobody asks"),
        };
        assert_eq!(super::reason(&error, &Url::parse(&url).unwrap()), "EOF");
    }
}
