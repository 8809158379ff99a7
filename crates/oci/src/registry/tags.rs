//! Listing tags page by page (DEP-OCI-3).

use reqwest::Method;
use serde::Deserialize;
use url::Url;

use super::send::below;
use super::{Answer, Registry, link};
use crate::error::{Error, FIRST_PAGE, shown};

/// Tags of one repository that are listed; those of the largest known repositories are some hundred thousand.
pub const MAX_TAGS: usize = 1_000_000;
/// Pages of a list. Some registries give empty ones before the last.
const MAX_PAGES: usize = 10_000;
/// Bytes of one page.
const MAX_PAGE_BYTES: usize = 16 << 20;

/// Returns the tags of one page of a list, in its order (DEP-OCI-3).
///
/// # Errors
/// When the page is no list of tags.
pub fn tags_of_page(page: &[u8]) -> Result<Vec<String>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Page {
        /// `null` for a repository without tags.
        tags: Option<Vec<String>>,
    }
    let Page { tags } = serde_json::from_slice(page)?;
    Ok(tags.unwrap_or_default())
}

impl Registry {
    /// All tags of the repository in the registry's order, at most `limit`.
    ///
    /// # Errors
    /// When there is no such repository, the registry does not let us, there are more tags, or its pages lead in a circle.
    pub async fn tags(&mut self, limit: usize) -> Result<Vec<String>, Error> {
        let path = format!("{}/tags/list", self.repository.path());
        let first = |base: &Url, query: Option<&str>| {
            let mut url = below(base, &path);
            url.set_query(query);
            url
        };
        let mut answer = match self.request_at(Method::GET, |base| first(base, Some(FIRST_PAGE))).await {
            // A registry may refuse pages of this size instead of giving smaller ones; it knows its own.
            Err(error) if error.refuses_page_size() => {
                tracing::debug!(%error, "tags are listed in pages of the registry's size");
                self.request_at(Method::GET, |base| first(base, None)).await?
            }
            answer => answer?,
        };
        let mut tags = Vec::new();
        // One page at a time is remembered, at ever greater distances (Brent): a circle of any length comes back to it.
        let mut remembered = answer.asked.clone();
        for page in 1..=MAX_PAGES {
            let next = link::next(&answer)?;
            tags.extend(self.page(answer).await?);
            if tags.len() > limit {
                break;
            }
            let Some(next) = next else { return Ok(tags) };
            if next == remembered {
                return Err(Error::Circle { list: shown(&next) });
            }
            if page.is_power_of_two() {
                remembered = next.clone();
            }
            answer = self.request_at(Method::GET, move |_| next.clone()).await?;
        }
        Err(Error::TooManyTags { repository: self.repository.to_string(), limit })
    }

    async fn page(&self, answer: Answer) -> Result<Vec<String>, Error> {
        let (url, body) = self.body("tag list", MAX_PAGE_BYTES, answer).await?;
        let malformed = |error: serde_json::Error| {
            let (url, reason) = (shown(&url), error.to_string());
            Error::Malformed { what: "tag list", url, reason }.without(&self.told())
        };
        tags_of_page(&body).map_err(malformed)
    }
}
