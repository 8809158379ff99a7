//! The proxy on the way to the API server, where the kubeconfig names none: that of the environment, by Go's rules
//! (CLI-G02, KS-IMP-5).

use http::Uri;
use weir_http::{Exceptions, proxy_variable};

/// Returns the proxy that the environment wants for a server.
pub(super) fn of_environment(server: &Uri) -> Option<Uri> {
    let name = if is_plain(server) { "HTTP_PROXY" } else { "HTTPS_PROXY" };
    choose(server, &proxy_variable(name)?, &Exceptions::of_environment())
}

fn choose(server: &Uri, proxy: &str, exceptions: &Exceptions) -> Option<Uri> {
    let port = server.port_u16().unwrap_or(if is_plain(server) { 80 } else { 443 });
    if exceptions.contain(server.host()?, port) {
        return None;
    }
    match proxy.split_once("://") {
        // kube leaves names to the proxy with both.
        Some(("socks5h", rest)) => format!("socks5://{rest}").parse().ok(),
        Some(_) => proxy.parse().ok(),
        None => format!("http://{proxy}").parse().ok(),
    }
}

fn is_plain(server: &Uri) -> bool {
    server.scheme_str() == Some("http")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("https://api:6443", "api:6443", false)]
    #[case("https://api:6443", "api:443", true)]
    #[case("https://api", "api:443", false)]
    #[case("http://api", "api:443", true)]
    #[case("http://api", "api:80", false)]
    #[case("https://[fd00::1]:6443", "fd00::/8", false)]
    #[case("https://127.0.0.1:6443", "", false)]
    fn exceptions_are_about_host_and_port(
        #[case] server: &str,
        #[case] exceptions: &str,
        #[case] is_used: bool,
    ) {
        let chosen = choose(&server.parse().unwrap(), "http://proxy:3128", &Exceptions::new(exceptions));
        assert_eq!(chosen.is_some(), is_used);
    }

    #[rstest::rstest]
    #[case("proxy.example.org:3128", Some("http://proxy.example.org:3128/"))]
    #[case("http://me:secret@proxy:3128", Some("http://me:secret@proxy:3128/"))]
    #[case("socks5h://proxy:1080", Some("socks5://proxy:1080/"))]
    #[case("http://no proxy", None)]
    fn a_proxy_needs_no_scheme(#[case] proxy: &str, #[case] expected: Option<&str>) {
        let chosen = choose(&Uri::from_static("https://api:6443"), proxy, &Exceptions::default());
        assert_eq!(chosen.map(|chosen| chosen.to_string()).as_deref(), expected);
    }
}
