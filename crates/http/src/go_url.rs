//! URLs that Go's `net/url` refuses, with its error messages: Flux's users know these messages, and a URL that is
//! refused stalls the object until it is changed (SRC-GIT 4.9).

use std::net::IpAddr;

use url::Url;

/// Parses a URL, or returns Go's message about its fault.
///
/// # Errors
/// When Go would refuse it, or it has no scheme.
pub fn parse(text: &str) -> Result<Url, String> {
    check(text)?;
    Url::parse(text).map_err(|error| format!("parse {:?}: {error}", split_fragment(text).0))
}

/// Checks a URL, which need not have a scheme.
///
/// # Errors
/// When Go would refuse it: its message.
pub fn check(text: &str) -> Result<(), String> {
    let (url, fragment) = split_fragment(text);
    if let Some(reason) = refusal(url) {
        return Err(format!("parse {url:?}: {reason}"));
    }
    malformed(fragment, false).map_or(Ok(()), |reason| Err(format!("parse {text:?}: {reason}")))
}

/// Returns the scheme of a URL in small letters; empty where there is none.
pub fn scheme(text: &str) -> String {
    split_scheme(text).0.to_ascii_lowercase()
}

/// Returns true when a URL names a host.
pub fn has_host(text: &str) -> bool {
    split_scheme(text).1.strip_prefix("//").is_some_and(|after| !host(after).is_empty())
}

/// Splits a URL behind its scheme; the scheme is empty where there is none.
fn split_scheme(text: &str) -> (&str, &str) {
    text.split_once(':').filter(|(scheme, _)| is_scheme(scheme)).unwrap_or(("", text))
}

fn split_fragment(text: &str) -> (&str, &str) {
    text.split_once('#').unwrap_or((text, ""))
}

/// Returns the reason for which a URL without its fragment is refused.
fn refusal(url: &str) -> Option<String> {
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
        return None;
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
    of_authority.or_else(|| malformed(path, false))
}

/// Returns the reason for which a text is no host with a user before it and a port behind it.
fn bad_authority(text: &str) -> Option<String> {
    let (user, host) = text.rsplit_once('@').unwrap_or(("", text));
    let (address, port) = match host.rsplit_once('[') {
        Some((before, _)) if !before.is_empty() => return Some("invalid IP-literal".to_owned()),
        Some((_, address)) => match address.rsplit_once(']') {
            Some((address, port)) => (Some(address), port),
            None => return Some("missing ']' in host".to_owned()),
        },
        None => (None, host.find(':').and_then(|colon| host.get(colon..)).unwrap_or_default()),
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
    let of_address = || address.and_then(bad_address);
    malformed(host, true).or_else(of_address).or_else(of_user).or_else(|| malformed(user, false))
}

/// Returns the reason for which the text in the brackets of a host is no address of IPv6.
fn bad_address(text: &str) -> Option<String> {
    let (address, zone) =
        text.split_once("%25").map_or((text, None), |(address, zone)| (address, Some(zone)));
    match (address.parse::<IpAddr>(), zone) {
        (Ok(IpAddr::V6(_)), Some("")) => {
            Some(format!("invalid host: ParseAddr(\"{address}%\"): zone must be a non-empty string"))
        }
        (Ok(IpAddr::V6(_)), _) => None,
        (Ok(IpAddr::V4(_)), None) => Some("invalid IP-literal".to_owned()),
        _ => Some(format!("invalid host: ParseAddr({text:?}): unable to parse IP")),
    }
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

/// Returns the text without `user:password@` and without its query (tokens and signatures stand there), for messages;
/// it need not be a URL.
pub fn without_user_info(text: &str) -> String {
    let (scheme, rest) = text.split_at(text.find("://").map_or(0, |at| at + "://".len()));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // A password with such a character in it ends the host too early, which then is none.
    let is_cut = !authority.contains('@') && bad_authority(authority).is_some();
    let user = if is_cut { rest.rfind('@') } else { authority.rfind('@') };
    let shown = rest.get(user.map_or(0, |at| at + 1)..).unwrap_or_default();
    match shown.split_once('?') {
        Some((before, _)) => format!("{scheme}{before}?..."),
        None => format!("{scheme}{shown}"),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn a_refusal_names_the_url_without_its_fragment() {
        let message = r#"parse "http://h:x/%zz": invalid port ":x" after host"#;
        assert_eq!(parse("http://h:x/%zz#b").unwrap_err(), message);
    }

    #[rstest]
    #[case("http://user:hunter2@[::1/a", "http://[::1/a")]
    #[case("http://h/a@b", "http://h/a@b")]
    #[case("http://u:p@h/a?sig=secret", "http://h/a?...")]
    #[case("http://u:p/ss@h/a", "http://h/a")]
    #[case("http://u:p?ss@h/a?sig=secret", "http://h/a?...")]
    #[case("http://u:p#ss@h/a", "http://h/a")]
    #[case("http://h:80/a@b", "http://h:80/a@b")]
    #[case("http://h/a?b@c", "http://h/a?...")]
    #[case("git@h:a/b", "h:a/b")]
    fn user_info_is_not_shown(#[case] text: &str, #[case] shown: &str) {
        assert_eq!(without_user_info(text), shown);
    }

    #[rstest]
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
    #[case("https://h.io/a%2?b=c", Some("invalid URL escape \"%2\""))]
    #[case("https://h.io/%", Some("invalid URL escape \"%\""))]
    #[case("https://user:p%40ss@h.io:80/a", None)]
    #[case("https://h.io/a%20b?c=%zz", None)]
    #[case("https://h.io/a#%z1", Some("invalid URL escape \"%z1\""))]
    #[case("https://a b/c", Some("invalid character \" \" in host name"))]
    #[case("https://a%20b/c", Some("invalid URL escape \"%20\""))]
    #[case("https://[::1", Some("missing ']' in host"))]
    #[case("https://[fe80::1%25eth0]:80/r", None)]
    #[case("https://[::ffff:1.2.3.4]/r", None)]
    #[case("https://[h.io]/r", Some("invalid host: ParseAddr(\"h.io\"): unable to parse IP"))]
    #[case("https://[]/r", Some("invalid host: ParseAddr(\"\"): unable to parse IP"))]
    #[case("https://[::1%25]/r", Some("invalid host: ParseAddr(\"::1%\"): zone must be a non-empty string"))]
    #[case("https://[1.2.3.4]/r", Some("invalid IP-literal"))]
    #[case("https://a[::1]/r", Some("invalid IP-literal"))]
    #[case("https://me:x y@h.io", Some("net/url: invalid userinfo"))]
    #[case("https://me:%zz@h.io", Some("invalid URL escape \"%zz\""))]
    #[case("mailto:a%zz", None)]
    fn addresses_are_read_as_by_go(#[case] text: &str, #[case] expected: Option<&str>) {
        let expected = expected.map_or(Ok(()), |reason| Err(format!("parse {text:?}: {reason}")));
        assert_eq!(check(text), expected);
    }

    #[rstest]
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
}
