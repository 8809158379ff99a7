//! Credentials on the way from http to https.

use reqwest::{RequestBuilder, Response};
use url::Url;

/// Returns true where a way leads from http to https on one host. Credentials that were given to the first may be given to the second: they
/// have been in plain text before (SRC-SCK-7).
#[must_use]
pub fn is_upgrade(from: &Url, to: &Url) -> bool {
    from.scheme() == "http" && to.scheme() == "https" && from.host_str() == to.host_str()
}

/// Sends a request for `url`, and once more where a redirect has led from http to https: the client has dropped the credentials on the way,
/// and many servers answer strangers too, with less. `again` makes the second request, and nothing where no credentials were given.
///
/// # Errors
/// Those of the client.
pub async fn send_upgraded(
    request: RequestBuilder,
    url: &Url,
    again: impl FnOnce(&Url) -> Option<RequestBuilder>,
) -> Result<Response, reqwest::Error> {
    let response = request.send().await?;
    let upgraded = Some(response.url()).filter(|reached| is_upgrade(url, reached));
    match upgraded.and_then(again) {
        Some(request) => request.send().await,
        None => Ok(response),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::upgraded("http://h/a", "https://h/b", true)]
    #[case::of_other_ports("http://h:8080/a", "https://h:8443/b", true)]
    #[case::downgraded("https://h/a", "http://h/a", false)]
    #[case::the_same("https://h/a", "https://h:8443/a", false)]
    #[case::another_host("http://h/a", "https://h.evil/a", false)]
    #[case::a_part_of_the_host("http://h/a", "https://x.h/a", false)]
    fn upgrades(#[case] from: &str, #[case] to: &str, #[case] expected: bool) {
        assert_eq!(is_upgrade(&Url::parse(from).unwrap(), &Url::parse(to).unwrap()), expected);
    }
}
