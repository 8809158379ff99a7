//! Addresses that flags name: what Go's library refuses is refused in its words, before a cluster sees it.

use weir_http::go_url;

use crate::error::Error;

/// Refuses a text that is no URL; `failing` stands in front of the reason.
pub(super) fn check(text: &str, failing: &str) -> Result<(), Error> {
    go_url::check(text).map_err(|reason| Error::Flags(format!("{failing}: {reason}{}", hint(text))))
}

/// Says how an address without a scheme, which begins with a host, is written as a URL.
pub(super) fn hint_of_scheme(text: &str) -> String {
    let is_of_host =
        go_url::scheme(text).is_empty() && text.split('/').next().is_some_and(|host| host.contains('.'));
    if is_of_host { format!("; as a URL it is https://{text}") } else { String::new() }
}

/// Says how an address is written as a URL that begins with the form of `scp`, or with a host.
pub(crate) fn hint_of_url(text: &str) -> String {
    let of_scp = hint(text);
    if of_scp.is_empty() { hint_of_scheme(text) } else { of_scp }
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

    #[test]
    fn the_form_of_scp_is_explained() {
        let error = check("git@h.io:org/r", "git URL parse failed").unwrap_err();
        let expected = "git URL parse failed: parse \"git@h.io:org/r\": first path segment in URL cannot contain colon; \
                        as a URL it is ssh://git@h.io/org/r";
        assert_eq!(error.to_string(), expected);
    }

    #[rstest::rstest]
    #[case("h.io/org/r", "; as a URL it is https://h.io/org/r")]
    #[case("ftp://h.io/r", "")]
    #[case("charts", "")]
    fn a_missing_scheme_is_explained(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(hint_of_scheme(text), expected);
        assert_eq!(hint_of_url(text), expected);
    }
}
