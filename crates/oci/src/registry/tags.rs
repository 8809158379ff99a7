//! Listing tags page by page (DEP-OCI-3).

use super::{Registry, link};
use crate::error::Error;
use reqwest::{Method, Response};
use serde::Deserialize;

/// Tags that are asked for at a time.
const PAGE: usize = 1000;
/// Pages of a list. Some registries give empty ones before the last.
const MAX_PAGES: usize = 10_000;
/// Bytes of one page.
const MAX_PAGE_BYTES: usize = 16 << 20;

#[derive(Deserialize)]
struct Page {
    /// `null` for a repository without tags.
    tags: Option<Vec<String>>,
}

impl Registry {
    /// All tags of the repository in the registry's order, at most `limit`.
    ///
    /// # Errors
    /// When there is no such repository, the registry does not let us, or there are more tags.
    pub async fn tags(&mut self, limit: usize) -> Result<Vec<String>, Error> {
        let first = format!("{}/tags/list?n={PAGE}", self.repository.path());
        let mut response = self.request_at(Method::GET, move |base| base.join(&first)).await?;
        let mut tags = Vec::new();
        for _ in 0..MAX_PAGES {
            let next = link::next(&response)?;
            tags.extend(self.page(response).await?);
            if tags.len() > limit {
                break;
            }
            let Some(next) = next else { return Ok(tags) };
            response = self.request_at(Method::GET, move |_| Ok(next.clone())).await?;
        }
        Err(Error::TooManyTags { repository: self.repository.to_string(), limit })
    }

    async fn page(&self, response: Response) -> Result<Vec<String>, Error> {
        let url = response.url().clone();
        let body = match self.in_time(weir_http::read_capped(response, MAX_PAGE_BYTES)).await? {
            Ok(body) => body,
            Err(weir_http::BodyError::TooLarge { limit }) => {
                return Err(Error::TooLarge { what: "tag list", url: url.to_string(), limit: limit as u64 });
            }
            Err(weir_http::BodyError::Broken(error)) => {
                return Err(Error::transport(&Method::GET, &url, &error));
            }
        };
        let malformed = |error: serde_json::Error| Error::Malformed {
            what: "tag list",
            url: url.to_string(),
            reason: error.to_string(),
        };
        Ok(serde_json::from_slice::<Page>(&body).map_err(malformed)?.tags.unwrap_or_default())
    }
}
