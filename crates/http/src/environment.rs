//! The environment's proxies.

use reqwest::ClientBuilder;
use url::Url;

use crate::Exceptions;
use crate::exceptions::proxy_variable;

/// Variables with the schemes of URLs that their proxies are for. A proxy for one scheme comes before that for all.
const VARIABLES: [(&str, Option<&str>); 3] =
    [("HTTPS_PROXY", Some("https")), ("HTTP_PROXY", Some("http")), ("ALL_PROXY", None)];

/// Adds the environment's proxies. The library would read them too, but have names resolved on this side of them, and follow
/// other rules for exceptions.
pub(crate) fn with_proxies(builder: ClientBuilder) -> ClientBuilder {
    add(builder, proxy_variable)
}

fn add(mut builder: ClientBuilder, variable: impl Fn(&str) -> Option<String>) -> ClientBuilder {
    let exceptions = Exceptions::new(&variable("NO_PROXY").unwrap_or_default());
    for (name, scheme) in VARIABLES {
        let Some(address) = variable(name).map(|address| proxy_url(&address)) else { continue };
        if reqwest::Proxy::all(&address).is_err() {
            // The address may hold a password.
            tracing::warn!("the address in {name} is no URL of a proxy and is not used");
            continue;
        }
        let exceptions = exceptions.clone();
        builder = builder.proxy(reqwest::Proxy::custom(move |url| {
            let is_meant = scheme.is_none_or(|scheme| url.scheme() == scheme) && !are_about(&exceptions, url);
            is_meant.then(|| address.clone())
        }));
    }
    builder
}

fn are_about(exceptions: &Exceptions, url: &Url) -> bool {
    let port = url.port_or_known_default().unwrap_or_default();
    url.host_str().is_some_and(|host| exceptions.contain(host, port))
}

/// Returns the URL of a proxy for the library: names are the proxy's to resolve, as with Go's `socks5`, since from here they
/// may have no address.
pub(crate) fn proxy_url(proxy: &str) -> String {
    match proxy.strip_prefix("socks5://") {
        Some(rest) => format!("socks5h://{rest}"),
        None => proxy.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::routing::get;
    use reqwest::Client;
    use rstest::rstest;
    use weir_testkit::{Proxy, Server};

    use super::*;

    /// A host that only the proxy can find.
    const URL: &str = "http://registry.weir.invalid:5000/";

    #[rstest]
    #[case("HTTP_PROXY", "", true)]
    #[case("ALL_PROXY", "", true)]
    #[case("HTTPS_PROXY", "", false)]
    #[case("HTTP_PROXY", "registry.weir.invalid:443", true)]
    #[case("HTTP_PROXY", ".registry.weir.invalid", true)]
    #[case("HTTP_PROXY", "registry.weir.invalid:5000", false)]
    #[case("HTTP_PROXY", "*.weir.invalid", false)]
    #[case("ALL_PROXY", "*", false)]
    #[tokio::test]
    async fn proxies_of_the_environment(
        #[case] variable: &'static str,
        #[case] exceptions: &'static str,
        #[case] is_used: bool,
    ) {
        let server = Server::start(Router::new().route("/", get(async || "hello")), None).await.unwrap();
        let routes = [("registry.weir.invalid:5000", server.address())];
        let proxy = Proxy::start_with_password(&routes, "user", "hunter2").await.unwrap();
        // As with Go, an address may lack its scheme.
        let address = format!("user:hunter2@{}", proxy.address());
        let builder = add(Client::builder().no_proxy(), |name| match name {
            "NO_PROXY" => Some(exceptions.to_owned()),
            _ => (name == variable).then(|| address.clone()),
        });
        let answer = builder.build().unwrap().get(URL).send().await;
        assert_eq!(answer.is_ok_and(|answer| answer.status().is_success()), is_used);
        assert_eq!(!proxy.requests().is_empty(), is_used);
    }

    #[tokio::test]
    async fn this_machine_needs_no_proxy() {
        let server = Server::start(Router::new().route("/", get(async || "hello")), None).await.unwrap();
        let broken = |name: &str| (name != "NO_PROXY").then(|| "http://proxy.weir.invalid:1".to_owned());
        let client = add(Client::builder().no_proxy(), broken).build().unwrap();
        let answer = client.get(format!("http://{}/", server.address())).send().await;
        assert!(answer.is_ok(), "{answer:?}");
    }
}
