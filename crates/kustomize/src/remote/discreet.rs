//! Messages without the secrets that URLs carry.

use std::borrow::Cow;

use super::after;

/// Parameters of a URL's query that may be shown: those of kustomize, and those of Git's protocol.
const SHOWN: [&str; 5] = ["ref", "version", "timeout", "submodules", "service"];

/// A text whose URLs have neither user info nor queries that may hold a token; the user of an SSH URL stays.
pub(crate) fn without_secrets(text: &str) -> Cow<'_, str> {
    if !text.contains("://") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, found)) = rest.split_once("://") {
        out.push_str(before);
        out.push_str("://");
        let is_ssh = before
            .len()
            .checked_sub(3)
            .and_then(|at| before.get(at..))
            .is_some_and(|end| after(end, "ssh").is_some());
        let ends = |end: char| end.is_whitespace() || matches!(end, '\'' | '"' | '`' | '<' | '>');
        let (url, tail) =
            found.split_at_checked(found.find(ends).unwrap_or(found.len())).unwrap_or((found, ""));
        push_url(&mut out, url, is_ssh);
        rest = tail;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Writes what follows `scheme://` of a URL.
fn push_url(out: &mut String, url: &str, is_ssh: bool) {
    let end = url.find(['/', '?', '#']).unwrap_or(url.len());
    let (authority, rest) = url.split_at_checked(end).unwrap_or((url, ""));
    // A password with such a character in it ends the host too early: the port is none then.
    let port = authority.split_once(':').filter(|_| !authority.contains('@') && !authority.starts_with('['));
    let is_cut = port.is_some_and(|(_, port)| port.contains(|char: char| !char.is_ascii_digit()));
    if is_cut && let Some((_, after_user)) = url.rsplit_once('@') {
        return push_url(out, after_user, is_ssh);
    }
    match authority.rsplit_once('@') {
        Some((user, host)) if !is_ssh || user.contains(':') => out.push_str(host),
        _ => out.push_str(authority),
    }
    let Some((path, query)) = rest.split_once('?') else { return out.push_str(rest) };
    out.push_str(path);
    let is_shown =
        query.split('&').all(|pair| SHOWN.contains(&pair.split_once('=').map_or(pair, |(key, _)| key)));
    out.push('?');
    out.push_str(if is_shown { query } else { "..." });
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::without_secrets;

    #[rstest]
    #[case("no URL: git@github.com:org/repo", "no URL: git@github.com:org/repo")]
    #[case("'https://me:pw@host/org/repo?ref=v1': x", "'https://host/org/repo?ref=v1': x")]
    #[case(
        "https://ghp_token@host:8443/a and http://u:p@b.c/d\nx",
        "https://host:8443/a and http://b.c/d\nx"
    )]
    #[case("ssh://git@host/a ssh://git:pw@host/a", "ssh://git@host/a ssh://host/a")]
    #[case("https://host/f.yaml?token=abc&ref=x'", "https://host/f.yaml?...'")]
    #[case("https://a@b@host", "https://host")]
    #[case("https://me:p/w@host/a?ref=v1 https://me:p?w@host", "https://host/a?ref=v1 https://host")]
    #[case("https://host:8443/a@b https://[::1]/a@b", "https://host:8443/a@b https://[::1]/a@b")]
    #[case("://", "://")]
    fn secrets_are_left_out(#[case] text: &str, #[case] wanted: &str) {
        assert_eq!(without_secrets(text), wanted);
    }
}
