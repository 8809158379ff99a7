//! URLs as errors, events and logs may show them (SRC-SCK-11).

use url::Url;

/// A URL without user info, query and fragment: any of them may be a password, a signature or a token.
#[must_use]
pub fn shown(url: &Url) -> String {
    let mut url = without_user_info(url);
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

/// As [`shown`], for text that should be a URL or a part of one and may be neither.
#[must_use]
pub fn shown_text(reference: &str) -> String {
    let reference = reference.split(['?', '#']).next().unwrap_or_default();
    match (reference.find("//"), reference.rfind('@')) {
        (Some(start), Some(at)) if at > start => {
            let before = reference.get(..start + 2).unwrap_or_default();
            format!("{before}{}", reference.get(at + 1..).unwrap_or_default())
        }
        _ => reference.to_owned(),
    }
}

/// A URL without user info.
#[must_use]
pub fn without_user_info(url: &Url) -> Url {
    let mut url = url.clone();
    // Only URLs without host refuse this, and those hold none.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("https://u:p@h/c?sv=1&sig=hunter2#hunter2", "https://h/c")]
    #[case("https://token@h:8443/c", "https://h:8443/c")]
    #[case("http://h/a%2Fb/", "http://h/a%2Fb/")]
    fn urls(#[case] url: &str, #[case] expected: &str) {
        assert_eq!(shown(&Url::parse(url).unwrap()), expected);
        assert_eq!(shown_text(url), expected);
    }

    #[rstest]
    #[case("http://u:p@:port/c?sig=1", "http://:port/c")]
    #[case("//u:p@h/c?sig=1", "//h/c")]
    #[case("c@1.0.tgz?sig=1", "c@1.0.tgz")]
    fn text_that_is_no_url(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(shown_text(text), expected);
    }
}
