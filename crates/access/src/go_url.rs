//! URLs that Go's `net/url` refuses, with its error messages: Flux's users know these messages, and a URL that is
//! refused stalls the object until it is changed (SRC-GIT 4.9).

use url::Url;

/// Parses a URL, or returns Go's message about its fault.
///
/// # Errors
/// When Go would refuse it, or it has no scheme.
pub fn parse(text: &str) -> Result<Url, String> {
    let (whole, fragment) = text.split_once('#').unwrap_or((text, ""));
    let refuse = |why: String| format!("parse {whole:?}: {why}");
    if whole.chars().any(|character| character.is_ascii_control()) {
        return Err(refuse("net/url: invalid control character in URL".to_owned()));
    }
    let before_query = whole.split_once('?').map_or(whole, |(before, _)| before);
    let rest = before_query.split_once("://").map_or(before_query, |(_, rest)| rest);
    let (authority, path) = rest.split_at_checked(rest.find('/').unwrap_or(rest.len())).unwrap_or_default();
    let (user_info, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    host_fault(host).map_or(Ok(()), |fault| Err(refuse(fault)))?;
    // Nobody looks at the escapes of a query before it is taken apart.
    if let Some(escape) = [user_info, host, path].into_iter().find_map(bad_escape) {
        return Err(refuse(format!("invalid URL escape {escape:?}")));
    }
    if let Some(escape) = bad_escape(fragment) {
        return Err(format!("parse {text:?}: invalid URL escape {escape:?}"));
    }
    Url::parse(text).map_err(|error| refuse(error.to_string()))
}

fn host_fault(host: &str) -> Option<String> {
    let port = match host.strip_prefix('[').map(|inner| inner.split_once(']')) {
        Some(None) => return Some("missing ']' in host".to_owned()),
        Some(Some((_, port))) => port,
        None => host.find(':').and_then(|at| host.get(at..)).unwrap_or_default(),
    };
    let digits = port.strip_prefix(':').unwrap_or_default();
    if !port.is_empty() && (!port.starts_with(':') || !digits.bytes().all(|byte| byte.is_ascii_digit())) {
        return Some(format!("invalid port {port:?} after host"));
    }
    let stranger = host.chars().find(|character| r" \^`{|}".contains(*character))?;
    Some(format!("invalid character {:?} in host name", stranger.to_string()))
}

/// Returns the text without `user:password@` and without its query (tokens and signatures stand there), for messages;
/// it need not be a URL.
pub fn without_user_info(text: &str) -> String {
    let text = match text.split_once('?') {
        Some((before, _)) => &format!("{before}?..."),
        None => text,
    };
    let (scheme, rest) = text.split_once("://").map_or(("", text), |(scheme, rest)| (scheme, rest));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest.get(..end).and_then(|authority| authority.rfind('@')) {
        Some(at) => format!("{scheme}://{}", rest.get(at + 1..).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The first `%` that is no escape, with what follows it.
fn bad_escape(text: &str) -> Option<&str> {
    text.match_indices('%').find_map(|(at, _)| {
        let hex = text.get(at + 1..at + 3).unwrap_or_default();
        let is_escape = hex.len() == 2 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        let end = text.len().min(at + 3);
        (!is_escape).then(|| text.get(at..end).unwrap_or("%"))
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    #[rstest]
    #[case("http://127.0.0.1:port/a", r#"parse "http://127.0.0.1:port/a": invalid port ":port" after host"#)]
    #[case("http://[::1/a", r#"parse "http://[::1/a": missing ']' in host"#)]
    #[case("http://127.0.0.1/%zz", r#"parse "http://127.0.0.1/%zz": invalid URL escape "%zz""#)]
    #[case("http://h/%", r#"parse "http://h/%": invalid URL escape "%""#)]
    #[case("http://h/a%2?b=c", r#"parse "http://h/a%2?b=c": invalid URL escape "%2""#)]
    #[case("http://u:%zz@h/a", r#"parse "http://u:%zz@h/a": invalid URL escape "%zz""#)]
    #[case("http://h/a#%zz", r#"parse "http://h/a#%zz": invalid URL escape "%zz""#)]
    #[case("http://h:x/%zz#b", r#"parse "http://h:x/%zz": invalid port ":x" after host"#)]
    #[case("oci://A b/c d", r#"parse "oci://A b/c d": invalid character " " in host name"#)]
    fn refused(#[case] url: &str, #[case] message: &str) {
        assert_eq!(super::parse(url).unwrap_err(), message);
    }

    #[rstest]
    #[case("http://user:hunter2@[::1/a", "http://[::1/a")]
    #[case("http://h/a@b", "http://h/a@b")]
    #[case("http://u:p@h/a?sig=secret", "http://h/a?...")]
    fn user_info_is_not_shown(#[case] text: &str, #[case] shown: &str) {
        assert_eq!(super::without_user_info(text), shown);
    }

    #[rstest]
    #[case("http://user:p%40ss@h:80/a")]
    #[case("ssh://git@[::1]:22/a.git")]
    #[case("https://h/a?b=c%20d")]
    #[case("https://h/a?sig=a%zz")]
    fn taken(#[case] url: &str) {
        assert!(super::parse(url).is_ok());
    }
}
