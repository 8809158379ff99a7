//! The proxy on the way to the API server, where the kubeconfig names none: that of the environment, by Go's rules
//! (CLI-G02, KS-IMP-5).

use std::net::IpAddr;

use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;

/// Variables about proxies.
#[derive(Debug, Clone, Copy)]
struct Variables<'a> {
    proxy: &'a str,
    /// Hosts that are reached without it.
    exceptions: &'a str,
}

/// Returns the proxy that the environment wants for a server.
pub fn of_environment(server: &Uri) -> Option<Uri> {
    let text = |names: [&str; 2]| {
        let mut texts = names.into_iter().filter_map(|name| std::env::var(name).ok());
        texts.find(|text| !text.is_empty()).unwrap_or_default()
    };
    let is_plain = server.scheme_str() == Some("http");
    let proxy = text(if is_plain { ["HTTP_PROXY", "http_proxy"] } else { ["HTTPS_PROXY", "https_proxy"] });
    let exceptions = text(["NO_PROXY", "no_proxy"]);
    Variables { proxy: &proxy, exceptions: &exceptions }.choose(server)
}

impl Variables<'_> {
    fn choose(self, server: &Uri) -> Option<Uri> {
        let host = server.host()?.trim_matches(['[', ']']).to_lowercase();
        let port = server.port_u16().unwrap_or(if server.scheme_str() == Some("http") { 80 } else { 443 });
        if is_local(&host) || self.is_excepted(&host, port) {
            return None;
        }
        match self.proxy.split_once("://") {
            // kube leaves names to the proxy with both.
            Some(("socks5h", rest)) => format!("socks5://{rest}").parse().ok(),
            Some(_) => self.proxy.parse().ok(),
            None if self.proxy.is_empty() => None,
            None => format!("http://{}", self.proxy).parse().ok(),
        }
    }

    /// Returns true when the list of exceptions names a host. The library's matcher knows addresses, networks and domains; ports, `*`
    /// and domains without their own host are seen to here.
    fn is_excepted(self, host: &str, port: u16) -> bool {
        let entries = self.exceptions.split(',').map(|entry| entry.trim().to_lowercase());
        let entries: Vec<_> = entries.filter_map(|entry| of_port(&entry, port)).collect();
        if entries.iter().any(|entry| entry == "*") {
            return true;
        }
        let is_other = |entry: &&String| entry.strip_prefix('.') != Some(host);
        let entries: Vec<_> = entries.iter().filter(is_other).map(String::as_str).collect();
        let matcher = Matcher::builder().all("http://proxy").no(entries.join(",")).build();
        let authority = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let page = format!("https://{authority}/").parse::<Uri>();
        page.is_ok_and(|page| matcher.intercept(&page).is_none())
    }
}

/// Returns an exception without its port; nothing when it is for another port.
fn of_port(entry: &str, port: u16) -> Option<String> {
    let entry = entry.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(entry);
    let is_address = entry.parse::<IpAddr>().is_ok();
    match entry.rsplit_once(':').filter(|(_, port)| !is_address && !port.contains(['/', ']'])) {
        Some((host, given)) if given == port.to_string() => Some(host.trim_matches(['[', ']']).to_owned()),
        Some(_) => None,
        None => Some(entry.trim_matches(['[', ']']).to_owned()),
    }
}

/// Returns true for this machine, which is never reached by way of a proxy.
fn is_local(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("", true)]
    #[case("api.example.org", false)]
    #[case("API.example.org,", false)]
    #[case("example.org", false)]
    #[case(".example.org", false)]
    #[case("*.example.org", false)]
    #[case(".api.example.org", true)]
    #[case("xample.org", true)]
    #[case("other.org, api.example.org:6443", false)]
    #[case("api.example.org:443", true)]
    #[case("*", false)]
    #[case(",,", true)]
    fn names_are_excepted_as_in_go(#[case] exceptions: &str, #[case] is_used: bool) {
        let variables = Variables { proxy: "http://proxy:3128", exceptions };
        let chosen = variables.choose(&Uri::from_static("https://api.example.org:6443"));
        assert_eq!(chosen.is_some(), is_used);
    }

    #[rstest::rstest]
    #[case("https://10.1.2.3:6443", "10.0.0.0/8", false)]
    #[case("https://10.1.2.3:6443", "10.1.2.3", false)]
    #[case("https://10.1.2.3:6443", "10.1.2.3:6443", false)]
    #[case("https://10.1.2.3:6443", "10.1.2.3:443", true)]
    #[case("https://10.1.2.3", "10.1.2.3:443", false)]
    #[case("https://10.1.2.3:6443", "192.168.0.0/16", true)]
    #[case("https://10.1.2.3:6443", "*", false)]
    #[case("https://[fd00::1]:6443", "fd00::/8", false)]
    #[case("https://[fd00::1]:6443", "fd00::1", false)]
    #[case("https://[fd00::1]:6443", "[fd00::1]:6443", false)]
    #[case("https://[fd00::1]:6443", "fd00::2", true)]
    #[case("https://127.0.0.1:6443", "", false)]
    #[case("https://[::1]:6443", "", false)]
    #[case("https://localhost:6443", "", false)]
    fn addresses_are_excepted_as_in_go(
        #[case] server: &str,
        #[case] exceptions: &str,
        #[case] is_used: bool,
    ) {
        let variables = Variables { proxy: "http://proxy:3128", exceptions };
        assert_eq!(variables.choose(&server.parse().unwrap()).is_some(), is_used);
    }

    #[rstest::rstest]
    #[case("proxy.example.org:3128", Some("http://proxy.example.org:3128/"))]
    #[case("http://me:secret@proxy:3128", Some("http://me:secret@proxy:3128/"))]
    #[case("socks5h://proxy:1080", Some("socks5://proxy:1080/"))]
    #[case("", None)]
    #[case("http://no proxy", None)]
    fn a_proxy_needs_no_scheme(#[case] proxy: &str, #[case] expected: Option<&str>) {
        let chosen = Variables { proxy, exceptions: "" }.choose(&Uri::from_static("https://api:6443"));
        assert_eq!(chosen.map(|chosen| chosen.to_string()).as_deref(), expected);
    }
}
