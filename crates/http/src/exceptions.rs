//! Hosts that are reached without the environment's proxies, by Go's rules (CLI-G02, KS-IMP-5).

use std::net::IpAddr;

use hyper_util::client::proxy::matcher::Matcher;

/// Hosts that are reached without a proxy: those that `NO_PROXY` names, and this machine.
#[derive(Debug, Clone, Default)]
pub struct Exceptions {
    /// Entries in lower case: hosts, domains, networks and `*`, some with a port.
    entries: Vec<String>,
}

impl Exceptions {
    /// Reads the text of `NO_PROXY`.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self { entries: text.split(',').map(|entry| entry.trim().to_lowercase()).collect() }
    }

    /// Reads `NO_PROXY` of the environment, or `no_proxy` where that is empty.
    #[must_use]
    pub fn of_environment() -> Self {
        Self::new(&proxy_variable("NO_PROXY").unwrap_or_default())
    }

    /// Returns true when a host is reached without a proxy at a port. The library's matcher knows addresses, networks and domains; ports,
    /// `*` and domains without their own host are seen to here.
    #[must_use]
    pub fn contain(&self, host: &str, port: u16) -> bool {
        let host = host.trim_matches(['[', ']']).to_lowercase();
        let entries: Vec<_> = self.entries.iter().filter_map(|entry| of_port(entry, port)).collect();
        if is_local(&host) || entries.iter().any(|entry| entry == "*") {
            return true;
        }
        let is_other = |entry: &&String| entry.strip_prefix('.') != Some(host.as_str());
        let entries: Vec<_> = entries.iter().filter(is_other).map(String::as_str).collect();
        let matcher = Matcher::builder().all("http://proxy").no(entries.join(",")).build();
        let authority = if host.contains(':') { format!("[{host}]") } else { host };
        let page = format!("https://{authority}/").parse();
        page.is_ok_and(|page| matcher.intercept(&page).is_none())
    }
}

/// Returns the environment's variable about proxies with a name in upper case, or else in lower case. An empty one is none.
#[must_use]
pub fn proxy_variable(name: &str) -> Option<String> {
    let mut texts =
        [name.to_owned(), name.to_lowercase()].into_iter().filter_map(|name| std::env::var(name).ok());
    texts.find(|text| !text.is_empty())
}

/// Returns an exception without its port; none when it is for another port.
fn of_port(entry: &str, port: u16) -> Option<String> {
    let entry = entry.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(entry);
    let is_address = entry.parse::<IpAddr>().is_ok();
    match entry.rsplit_once(':').filter(|(_, port)| !is_address && !port.contains(['/', ']'])) {
        Some((host, given)) if given == port.to_string() => Some(host.trim_matches(['[', ']']).to_owned()),
        Some(_) => None,
        None => Some(entry.trim_matches(['[', ']']).to_owned()),
    }
}

/// Returns true for this machine.
fn is_local(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("", false)]
    #[case("api.example.org", true)]
    #[case("API.example.org,", true)]
    #[case("example.org", true)]
    #[case(".example.org", true)]
    #[case("*.example.org", true)]
    #[case(".api.example.org", false)]
    #[case("xample.org", false)]
    #[case("other.org, api.example.org:6443", true)]
    #[case("api.example.org:443", false)]
    #[case("*", true)]
    #[case(",,", false)]
    fn names_are_excepted_as_in_go(#[case] exceptions: &str, #[case] is_excepted: bool) {
        assert_eq!(Exceptions::new(exceptions).contain("api.example.org", 6443), is_excepted);
        assert_eq!(Exceptions::new(exceptions).contain("API.example.org", 6443), is_excepted);
    }

    #[rstest]
    #[case("10.1.2.3", 6443, "10.0.0.0/8", true)]
    #[case("10.1.2.3", 6443, "10.1.2.3", true)]
    #[case("10.1.2.3", 6443, "10.1.2.3:6443", true)]
    #[case("10.1.2.3", 6443, "10.1.2.3:443", false)]
    #[case("10.1.2.3", 443, "10.1.2.3:443", true)]
    #[case("10.1.2.3", 6443, "192.168.0.0/16", false)]
    #[case("10.1.2.3", 6443, "*", true)]
    #[case("[fd00::1]", 6443, "fd00::/8", true)]
    #[case("[fd00::1]", 6443, "fd00::1", true)]
    #[case("[fd00::1]", 6443, "[fd00::1]:6443", true)]
    #[case("[fd00::1]", 6443, "fd00::2", false)]
    #[case("127.0.0.1", 6443, "", true)]
    #[case("127.1.2.3", 6443, "", true)]
    #[case("[::1]", 6443, "", true)]
    #[case("[::ffff:127.0.0.1]", 6443, "", true)]
    #[case("localhost", 6443, "", true)]
    fn addresses_are_excepted_as_in_go(
        #[case] host: &str,
        #[case] port: u16,
        #[case] exceptions: &str,
        #[case] is_excepted: bool,
    ) {
        assert_eq!(Exceptions::new(exceptions).contain(host, port), is_excepted);
    }
}
