//! Addresses that flags name: what Go's library refuses is refused in its words, before a cluster sees it.

use weir_access::go_url;

use crate::error::Error;

/// Refuses a text that is no URL; `failing` stands in front of the reason.
pub(super) fn check(text: &str, failing: &str) -> Result<(), Error> {
    go_url::check(text).map_err(|reason| Error::Flags(format!("{failing}: {reason}{}", hint(text))))
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
}
