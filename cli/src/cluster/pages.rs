//! Listings, page by page (CLI-GET07).

use futures::AsyncReadExt;
use kube::api::{ListMeta, ListParams, Request};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Cluster;
use crate::error::Error;

/// Objects requested at once; the rest follows page by page.
pub(crate) const PAGE: u32 = 500;

/// Objects that a listing shows at most: a thousand pages, so that a server that never ends its list is noticed.
const MAX_OBJECTS: usize = 500_000;

/// Bytes that a page may have; 500 of the largest objects that are stored, of 1.5 MiB, are fewer.
const MAX_PAGE_BYTES: u64 = 1 << 30;

/// A page, all but where the next one begins left unread.
#[derive(Deserialize)]
struct Head {
    metadata: ListMeta,
}

/// The objects of a page.
#[derive(Deserialize)]
struct Page<T> {
    items: Vec<T>,
}

impl Cluster {
    /// All objects that a list request is about, page by page, each as `row` makes it; `url` is the path of their API.
    pub(crate) async fn pages<T: DeserializeOwned, R: Send + 'static>(
        &self,
        url: &str,
        mut params: ListParams,
        row: impl Fn(T) -> R + Clone + Send + 'static,
    ) -> Result<kube::Result<Vec<R>>, Error> {
        params.limit = Some(PAGE);
        let all = async {
            let mut rows = Vec::new();
            let mut body = self.page(url, &params).await?;
            loop {
                params.continue_token = next(&body)?.filter(|_| rows.len() < MAX_OBJECTS);
                let read = read(body, row.clone());
                if params.continue_token.is_none() {
                    rows.extend(read.await?);
                    return Ok(rows);
                }
                // The server works on the next page meanwhile.
                let (read, next) = tokio::join!(read, self.page(url, &params));
                rows.extend(read?);
                body = next?;
            }
        };
        self.in_time(all).await
    }

    async fn page(&self, url: &str, params: &ListParams) -> kube::Result<Vec<u8>> {
        let request = Request::new(url).list(params).map_err(kube::Error::BuildRequest)?;
        let answer = self.client.request_stream(request).await?;
        let mut body = Vec::new();
        let received = answer.take(MAX_PAGE_BYTES).read_to_end(&mut body).await;
        received.map_err(|error| kube::Error::Service(error.into()))?;
        if body.len() as u64 == MAX_PAGE_BYTES {
            return Err(kube::Error::Service("a page of the list is longer than 1 GiB".into()));
        }
        Ok(body)
    }
}

/// Returns the token of the next page; nothing behind the last one.
fn next(body: &[u8]) -> kube::Result<Option<String>> {
    let Head { metadata } = serde_json::from_slice(body).map_err(kube::Error::SerdeError)?;
    Ok(metadata.continue_.filter(|token| !token.is_empty()))
}

/// Reads a page on a thread of its own.
async fn read<T: DeserializeOwned, R: Send + 'static>(
    body: Vec<u8>,
    row: impl Fn(T) -> R + Send + 'static,
) -> kube::Result<Vec<R>> {
    let rows = tokio::task::spawn_blocking(move || {
        let Page { items } = serde_json::from_slice(&body).map_err(kube::Error::SerdeError)?;
        Ok(items.into_iter().map(row).collect())
    });
    rows.await.map_err(|error| kube::Error::Service(error.into()))?
}
