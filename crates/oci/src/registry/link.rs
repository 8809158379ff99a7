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

/// The page that `Link: <…>; rel="next"` names, of the `list` that it came with. It must be on the same registry: the
/// header must not send us, and our credentials, anywhere else.
///
/// # Errors
/// When it is not.
pub fn next_page<'a>(list: &Url, links: impl Iterator<Item = &'a str>) -> Result<Option<Url>, Error> {
    let next = links.flat_map(|value| value.split(',')).find_map(|link| {
        let (target, parameters) = link.trim().strip_prefix('<')?.split_once('>')?;
        let is_next =
            parameters.split(';').any(|parameter| matches!(parameter.trim(), "rel=\"next\"" | "rel=next"));
        is_next.then_some(target)
    });
    let Some(next) = next else { return Ok(None) };
    match list.join(next).ok().filter(|url| url.origin() == list.origin()) {
        Some(url) => Ok(Some(url)),
        None => Err(Error::NextPage { list: shown(list), next: weir_http::shown_text(next) }),
    }
}
