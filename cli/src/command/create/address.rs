//! Addresses that flags name, read by the rules of Go's library: what it refuses is refused in its words, before a cluster sees it.

use crate::error::Error;

/// Refuses a text that is no URL; `failing` stands in front of the reason.
pub(super) fn check(text: &str, failing: &str) -> Result<(), Error> {
    match refusal(text) {
        None => Ok(()),
        Some(reason) => Err(Error::Flags(format!("{failing}: parse {text:?}: {reason}{}", hint(text)))),
    }
}

/// Returns the scheme of a URL in small letters; empty where there is none.
pub(super) fn scheme(text: &str) -> String {
    split_scheme(text).0.to_ascii_lowercase()
}

/// Returns true when a URL names a host.
pub(super) fn has_host(text: &str) -> bool {
    split_scheme(text).1.strip_prefix("//").is_some_and(|after| !host(after).is_empty())
}

/// Splits a URL behind its scheme; the scheme is empty where there is none.
fn split_scheme(text: &str) -> (&str, &str) {
    text.split_once(':').filter(|(scheme, _)| is_scheme(scheme)).unwrap_or(("", text))
}

fn refusal(text: &str) -> Option<String> {
    if text.chars().any(|char| char.is_ascii_control()) {
        return Some("net/url: invalid control character in URL".to_owned());
    }
    if text.starts_with(':') {
        return Some("missing protocol scheme".to_owned());
    }
    let (scheme, rest) = split_scheme(text);
    let Some(after) = rest.strip_prefix("//") else {
        let first = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let is_ambiguous = scheme.is_empty() && first.contains(':');
        return is_ambiguous.then(|| "first path segment in URL cannot contain colon".to_owned());
    };
    let (_, port) = host(after).rsplit_once(':').filter(|(_, port)| !port.contains(']'))?;
    let is_port = port.chars().all(|char| char.is_ascii_digit());
    (!is_port).then(|| format!("invalid port {:?} after host", format!(":{port}")))
}

/// Returns the host with its port, from the part of a URL behind `//`.
fn host(text: &str) -> &str {
    let authority = text.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|char: char| char.is_ascii_alphabetic())
        && text.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '+' | '-' | '.'))
}

/// Says how an address in the form of `scp` is written as a URL.
fn hint(text: &str) -> String {
    match text
        .split_once(':')
        .filter(|(host, path)| host.contains('@') && !host.contains('/') && !path.is_empty())
    {
        Some((host, path)) => format!("; as a URL it is ssh://{host}/{}", path.trim_start_matches('/')),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("https://h.io:8443/r", None)]
    #[case("ssh://git@[::1]:22/r", None)]
    #[case("ssh://git@[::1]/r", None)]
    #[case("proxy:8080", None)]
    #[case("10.0.0.1:8080", Some("first path segment in URL cannot contain colon"))]
    #[case("://h.io", Some("missing protocol scheme"))]
    #[case("http://h.io:x/r", Some("invalid port \":x\" after host"))]
    #[case("http://h.io/\u{7f}", Some("net/url: invalid control character in URL"))]
    fn addresses_are_read_as_by_go(#[case] text: &str, #[case] expected: Option<&str>) {
        assert_eq!(refusal(text).as_deref(), expected);
    }

    #[rstest::rstest]
    #[case("https://h.io", "https", true)]
    #[case("HTTPS://h.io/r", "https", true)]
    #[case("https:h.io", "https", false)]
    #[case("https:///r", "https", false)]
    #[case("https://?a", "https", false)]
    #[case("https://#a", "https", false)]
    #[case("https://user@/a", "https", false)]
    #[case("https://user@h.io/a", "https", true)]
    #[case("a: b", "a", false)]
    #[case("h.io/r", "", false)]
    fn schemes_end_at_a_colon(#[case] text: &str, #[case] expected: &str, #[case] is_of_host: bool) {
        assert_eq!((scheme(text).as_str(), has_host(text)), (expected, is_of_host));
    }

    #[test]
    fn the_form_of_scp_is_explained() {
        let error = check("git@h.io:org/r", "git URL parse failed").unwrap_err();
        let expected = "git URL parse failed: parse \"git@h.io:org/r\": first path segment in URL cannot contain colon; \
                        as a URL it is ssh://git@h.io/org/r";
        assert_eq!(error.to_string(), expected);
    }
}
