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
    let (url, fragment) = text.split_once('#').unwrap_or((text, ""));
    if url.chars().any(|char| char.is_ascii_control()) {
        return Some("net/url: invalid control character in URL".to_owned());
    }
    if url.starts_with(':') {
        return Some("missing protocol scheme".to_owned());
    }
    let (scheme, rest) = split_scheme(url);
    let rest = rest.split('?').next().unwrap_or_default();
    let is_opaque = !scheme.is_empty() && !rest.starts_with('/');
    if is_opaque {
        return malformed(fragment, false);
    }
    if !rest.starts_with('/') && rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
        return Some("first path segment in URL cannot contain colon".to_owned());
    }
    let after = rest.strip_prefix("//").filter(|after| !scheme.is_empty() || !after.starts_with('/'));
    let (of_authority, path) = match after {
        Some(after) => {
            let (authority, path) = after.split_at(after.find('/').unwrap_or(after.len()));
            (bad_authority(authority), path)
        }
        None => (None, rest),
    };
    of_authority.or_else(|| malformed(path, false)).or_else(|| malformed(fragment, false))
}

/// Returns the reason for which a text is no host with a user before it and a port behind it.
fn bad_authority(text: &str) -> Option<String> {
    let (user, host) = text.rsplit_once('@').unwrap_or(("", text));
    let port = match host.strip_prefix('[') {
        Some(address) => match address.rsplit_once(']') {
            Some((_, port)) => port,
            None => return Some("missing ']' in host".to_owned()),
        },
        None => host.find(':').and_then(|colon| host.get(colon..)).unwrap_or_default(),
    };
    let is_port = match port.strip_prefix(':') {
        Some(digits) => digits.chars().all(|char| char.is_ascii_digit()),
        None => port.is_empty(),
    };
    if !is_port {
        return Some(format!("invalid port {port:?} after host"));
    }
    let is_of_user = |char: char| char.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(char);
    let of_user = || (!user.chars().all(is_of_user)).then(|| "net/url: invalid userinfo".to_owned());
    malformed(host, true).or_else(of_user).or_else(|| malformed(user, false))
}

/// Returns the reason for which a part of a URL is no sequence of characters and escapes. In a host, ASCII is not escaped, but for the
/// sign before a zone, and few characters beside letters and digits are allowed.
fn malformed(text: &str, is_host: bool) -> Option<String> {
    text.char_indices().find_map(|(at, char)| match char {
        '%' => {
            let rest = text.as_bytes().get(at..).unwrap_or_default();
            let escape = rest.get(..3).unwrap_or(rest);
            let is_fine = match escape {
                b"%25" => true,
                [_, high, low] => {
                    let is_ascii = (b'0'..b'8').contains(high);
                    high.is_ascii_hexdigit() && low.is_ascii_hexdigit() && !(is_host && is_ascii)
                }
                _ => false,
            };
            (!is_fine).then(|| format!("invalid URL escape {:?}", String::from_utf8_lossy(escape)))
        }
        char if is_host && char.is_ascii() && !is_of_host(char) => {
            Some(format!("invalid character {:?} in host name", char.to_string()))
        }
        _ => None,
    })
}

fn is_of_host(char: char) -> bool {
    char.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:[]<>\"".contains(char)
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
    #[case("http://x:y:z", Some("invalid port \":y:z\" after host"))]
    #[case("https://%zz", Some("invalid URL escape \"%zz\""))]
    #[case("https://h.io/a%2", Some("invalid URL escape \"%2\""))]
    #[case("https://h.io/a%20b?c=%zz", None)]
    #[case("https://h.io/a#%z1", Some("invalid URL escape \"%z1\""))]
    #[case("https://a b/c", Some("invalid character \" \" in host name"))]
    #[case("https://a%20b/c", Some("invalid URL escape \"%20\""))]
    #[case("https://[::1", Some("missing ']' in host"))]
    #[case("https://me:x y@h.io", Some("net/url: invalid userinfo"))]
    #[case("https://me:%zz@h.io", Some("invalid URL escape \"%zz\""))]
    #[case("mailto:a%zz", None)]
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
