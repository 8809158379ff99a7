//! Transport errors in the words of Go's standard library, which users of Flux know and search for.

use std::error::Error;
use std::io::ErrorKind;
use url::Url;

/// Says why a request to `url` got no answer, for example `dial tcp 127.0.0.1:1: connect: connection refused`. Neither
/// user info nor the query of the URL is repeated.
#[must_use]
pub fn reason(error: &reqwest::Error, url: &Url) -> String {
    if error.is_timeout() {
        return "context deadline exceeded".to_owned();
    }
    let causes = || std::iter::successors(Error::source(error), |cause| (*cause).source());
    let io = causes().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    let place = || {
        let host = url.host_str().unwrap_or_default();
        url.port_or_known_default().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    };
    match io.map(std::io::Error::kind) {
        Some(ErrorKind::ConnectionRefused) => format!("dial tcp {}: connect: connection refused", place()),
        Some(ErrorKind::NetworkUnreachable) => {
            format!("dial tcp {}: connect: network is unreachable", place())
        }
        Some(ErrorKind::HostUnreachable) => format!("dial tcp {}: connect: no route to host", place()),
        Some(ErrorKind::ConnectionReset) => "read: connection reset by peer".to_owned(),
        Some(ErrorKind::UnexpectedEof) => "unexpected EOF".to_owned(),
        _ if error.is_connect() && causes().any(|cause| cause.to_string().starts_with("dns error")) => {
            format!("dial tcp: lookup {}: no such host", url.host_str().unwrap_or_default())
        }
        // The last cause is the one that says something; those above it only say that something failed.
        _ => causes().last().map_or_else(|| error.to_string(), ToString::to_string),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use crate::{Clients, Profile};
    use rstest::rstest;
    use url::Url;

    #[rstest]
    #[case("http://127.0.0.1:1/x", "dial tcp 127.0.0.1:1: connect: connection refused")]
    #[case("http://name.invalid/x", "dial tcp: lookup name.invalid: no such host")]
    #[tokio::test]
    async fn words(#[case] url: &str, #[case] expected: &str) {
        let client = Clients::new("test").get(&Profile::default()).unwrap();
        let error = client.get(url).send().await.unwrap_err();
        assert_eq!(super::reason(&error, &Url::parse(url).unwrap()), expected);
    }
}
