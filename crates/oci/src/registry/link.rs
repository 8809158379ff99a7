//! The page of a list that follows (DEP-OCI-3).

use reqwest::header;
use url::Url;

use super::Answer;
use crate::error::{Error, shown};

/// Returns the page that follows the one in `answer`. The registry is asked for it, also where a redirect has taken
/// this one from another server: the credentials of the next request are the registry's (SRC-SCK-7).
pub(super) fn next(answer: &Answer) -> Result<Option<Url>, Error> {
    let links = answer.response.headers().get_all(header::LINK).iter();
    next_page(&answer.asked, links.filter_map(|value| value.to_str().ok()))
}

/// Returns the page that `Link: <…>; rel="next"` names, of the `list` that it came with. It must be on the same registry: the
/// header must not send us, and our credentials, anywhere else. Scheme and port are those of the list, because a registry behind
/// a proxy often does not know its own.
///
/// # Errors
/// When the page is on another registry, or a header has no address (IR-12): tags would be missing without a word.
pub fn next_page<'a>(list: &Url, links: impl Iterator<Item = &'a str>) -> Result<Option<Url>, Error> {
    let mut next = None;
    for header in links.filter(|header| !header.is_empty()) {
        if !header.starts_with('<') || !header.contains('>') {
            let missing = if header.starts_with('<') { '>' } else { '<' };
            return Err(Error::Link { missing, header: weir_http::shown_text(header) });
        }
        next = next.or_else(|| header.split(',').find_map(next_of));
    }
    let Some(next) = next else { return Ok(None) };
    let Some(named) = list.join(next).ok().filter(|named| may_be_here(list, named)) else {
        return Err(Error::NextPage { list: shown(list), next: weir_http::shown_text(next) });
    };
    let mut page = list.clone();
    page.set_path(named.path());
    page.set_query(named.query());
    Ok(Some(page))
}

/// Returns true when a URL names the server of the list: the same host, and no other port.
fn may_be_here(list: &Url, named: &Url) -> bool {
    named.host() == list.host() && (named.port().is_none() || named.port() == list.port())
}

/// The address of a link, if it leads to the next page. One that does not say where it leads does.
fn next_of(link: &str) -> Option<&str> {
    let (target, parameters) = link.trim().strip_prefix('<')?.split_once('>')?;
    let mut relations = parameters.split(';').filter_map(|parameter| parameter.trim().strip_prefix("rel="));
    let is_next = relations.next().is_none_or(|relation| relation.trim_matches('"') == "next");
    is_next.then_some(target)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use url::Url;

    use super::next_page;

    /// IR-12.
    #[rstest]
    #[case(&[], Ok(None))]
    #[case(&[""], Ok(None))]
    #[case(&["</v2/a/tags/list?last=b>; rel=\"next\""], Ok(Some("https://h/v2/a/tags/list?last=b")))]
    #[case(&["</v2/a/tags/list?last=b>; rel=next"], Ok(Some("https://h/v2/a/tags/list?last=b")))]
    #[case(&["<list?last=b>"], Ok(Some("https://h/v2/a/tags/list?last=b")))]
    #[case(&["</first>; rel=\"prev\""], Ok(None))]
    #[case(&["</first>; rel=\"prev\", <list?n=2>; rel=\"next\""], Ok(Some("https://h/v2/a/tags/list?n=2")))]
    #[case(&["</first>; rel=\"prev\"", "<list?n=2>; rel=\"next\""], Ok(Some("https://h/v2/a/tags/list?n=2")))]
    #[case(&["nonsense"], Err("failed to parse link header: missing '<' in: nonsense"))]
    #[case(&["<list; rel=next"], Err("failed to parse link header: missing '>' in: <list; rel=next"))]
    #[case(&["<http://other/v2/a/tags/list>; rel=\"next\""],
        Err("list 'https://h/v2/a/tags/list' goes on at 'http://other/v2/a/tags/list', which is not on the same registry"))]
    #[case(&["<http://h/v2/a/tags/list?last=b>; rel=\"next\""], Ok(Some("https://h/v2/a/tags/list?last=b")))]
    #[case(&["<https://h:5000/v2/a/tags/list>"],
        Err("list 'https://h/v2/a/tags/list' goes on at 'https://h:5000/v2/a/tags/list', which is not on the same registry"))]
    fn pages_follow(#[case] headers: &[&str], #[case] expected: Result<Option<&str>, &str>) {
        let list = Url::parse("https://h/v2/a/tags/list").unwrap();
        let found = next_page(&list, headers.iter().copied()).map_err(|error| error.to_string());
        let found = found.map(|url| url.map(String::from));
        assert_eq!(found, expected.map(|url| url.map(str::to_owned)).map_err(str::to_owned));
    }

    /// A proxy before a registry tells it the host, and often neither the scheme nor the port.
    #[rstest]
    #[case("<https://h:5000/v2/a/tags/list?last=b>", true)]
    #[case("<https://h/v2/a/tags/list?last=b>", true)]
    #[case("<http://me@h:5000/v2/a/tags/list?last=b#x>", true)]
    #[case("<https://h:5001/v2/a/tags/list?last=b>", false)]
    #[case("<https://i:5000/v2/a/tags/list?last=b>", false)]
    #[case("<mailto:h>", false)]
    fn pages_stay_where_the_list_is(#[case] header: &str, #[case] is_followed: bool) {
        let list = Url::parse("https://h:5000/v2/a/tags/list?n=1000").unwrap();
        let found = next_page(&list, [header].into_iter()).ok().flatten().map(String::from);
        assert_eq!(found, is_followed.then(|| "https://h:5000/v2/a/tags/list?last=b".to_owned()));
    }
}
