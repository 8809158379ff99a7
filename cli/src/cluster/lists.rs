//! Lists of objects (CLI-GET07).

mod reader;

use futures::{AsyncRead, AsyncReadExt};
use kube::api::{ListParams, Request};
use serde::de::DeserializeOwned;

use self::reader::ListReader;
use super::Cluster;
use crate::error::Error;

/// Bytes of a list that are read at once: enough that the way to another thread does not count.
const PIECE_BYTES: u64 = 256 << 10;

impl Cluster {
    /// All objects that a list request is about, each as `row` makes it; `url` is the path of their API. They are asked for in one
    /// request: pages behind the first take the API server several times as long where nothing was written for some minutes
    /// (docs/benchmarks-log.md). They are read as they come. A server that makes pages all the same is asked for all of them.
    pub(crate) async fn each<T: DeserializeOwned + 'static, R: Send + 'static>(
        &self,
        url: &str,
        mut params: ListParams,
        row: impl Fn(T) -> R + Clone + Send + 'static,
    ) -> Result<kube::Result<Vec<R>>, Error> {
        let all = async {
            let mut rows = Vec::new();
            loop {
                let request = Request::new(url).list(&params).map_err(kube::Error::BuildRequest)?;
                let answer = self.client.request_stream(request).await?;
                (rows, params.continue_token) = read(answer, ListReader::new(rows, row.clone())).await?;
                if params.continue_token.is_none() {
                    return Ok(rows);
                }
            }
        };
        self.in_time(all).await
    }
}

/// Returns what was made of the objects of an answer and of those before it, and the token of the next page, if there is one.
async fn read<T: DeserializeOwned + 'static, R: Send + 'static>(
    answer: impl AsyncRead,
    mut list: ListReader<T, R, impl Fn(T) -> R + Send + 'static>,
) -> kube::Result<(Vec<R>, Option<String>)> {
    let mut answer = std::pin::pin!(answer);
    loop {
        let mut piece = Vec::new();
        let received = answer.as_mut().take(PIECE_BYTES).read_to_end(&mut piece).await;
        if received.map_err(|error| kube::Error::Service(error.into()))? == 0 {
            return list.end().map_err(kube::Error::SerdeError);
        }
        let read = tokio::task::spawn_blocking(move || list.push(&piece).map(|()| list));
        let read = read.await.map_err(|error| kube::Error::Service(error.into()))?;
        list = read.map_err(kube::Error::SerdeError)?;
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use kube::client::Body;
    use tokio::time::Instant;

    use super::*;

    /// Reads the list of a server that answers so, and with the second answer where the next page is wanted.
    async fn listed(first: &'static str, second: &'static str) -> kube::Result<Vec<u8>> {
        let server = tower::service_fn(move |request: http::Request<Body>| {
            let query = request.uri().query().unwrap_or_default();
            let answer = if query.contains("continue=next") { second } else { first };
            let answer = http::Response::new(Body::from(answer.as_bytes().to_vec()));
            std::future::ready(Ok::<_, Infallible>(answer))
        });
        let client = kube::Client::new(server, "default");
        let deadline = Instant::now() + Duration::from_secs(30);
        let cluster = Cluster { client, namespace: "default".to_owned(), deadline };
        cluster.each("/apis/numbers", ListParams::default(), |number| number).await.unwrap()
    }

    /// CLI-GET07.
    #[tokio::test]
    async fn pages_that_a_server_makes_are_all_read() {
        let first = r#"{"items":[1,2],"metadata":{"continue":"next"}}"#;
        assert_eq!(listed(first, r#"{"items":[3]}"#).await.unwrap(), [1, 2, 3]);
        assert_eq!(listed(r#"{"items":[1,2]}"#, "not asked for").await.unwrap(), [1, 2]);
    }

    #[tokio::test]
    async fn a_list_that_breaks_off_is_no_list() {
        let error = listed(r#"{"items":[1,2"#, "").await.unwrap_err();
        assert_eq!(error.to_string(), "Error deserializing response: the list ends in its middle");
    }
}
