//! One request with what is left of the deadline: authorised, retried while that may help (SRC-OCI-15).

use std::time::Duration;

use reqwest::{Method, Response, StatusCode, header};
use url::Url;

use super::content::Content;
use super::{ACCEPT, Registry};
use crate::error::Error;

/// Waits between the tries of one request: nearly none where just a connection broke, then as long as it takes to reload
/// a proxy before the registry.
const WAITS: [Duration; 3] = [Duration::from_millis(100), Duration::from_secs(1), Duration::from_secs(3)];

/// A successful answer.
pub(super) struct Answer {
    /// URL of our own request. Errors show this one and not the one that redirects have led to: that may be a place
    /// that opens to everyone who knows its name (SRC-SCK-11).
    pub(super) asked: Url,
    /// The answer itself.
    pub(super) response: Response,
}

/// Parts of a request beyond its method and place.
#[derive(Debug, Clone, Default)]
pub(super) struct Extra {
    /// First byte of the answer's body that is wanted. Registries may give all of them.
    pub(super) start: u64,
    /// Media type and body of the request.
    pub(super) content: Option<(String, Content)>,
}

/// The URL of a path below another one. Whatever the path looks like, it is no other host.
pub(super) fn below(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}{path}", base.path()));
    url
}

impl Registry {
    /// Sends a request for something of the repository and returns a successful answer.
    pub(super) async fn request(&mut self, method: Method, what: &str) -> Result<Answer, Error> {
        let path = format!("{}/{what}", self.repository.path());
        self.request_at(method, move |base| below(base, &path)).await
    }

    /// As [`Registry::request`], for a URL that `locate` makes from the registry's base.
    pub(super) async fn request_at(
        &mut self,
        method: Method,
        locate: impl Fn(&Url) -> Url,
    ) -> Result<Answer, Error> {
        self.request_with(Extra::default(), method, locate).await
    }

    /// As [`Registry::request_at`], with more to the request.
    pub(super) async fn request_with(
        &mut self,
        extra: Extra,
        method: Method,
        locate: impl Fn(&Url) -> Url,
    ) -> Result<Answer, Error> {
        let mut waits = WAITS.into_iter();
        let mut may_renew = true;
        loop {
            let error = match self.attempt(&extra, &method, &locate).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let is_refused = matches!(error, Error::Refused { status: StatusCode::UNAUTHORIZED, .. });
            if is_refused && std::mem::take(&mut may_renew) && self.knows_old_way() {
                self.lose_way();
                continue;
            }
            let wait = waits.next().filter(|_| error.is_transient());
            let wait = wait.and_then(|wait| weir_http::next_try(wait, error.retry_after()));
            // The last words of the registry say more than that the time is over.
            let Some(wait) = wait.filter(|wait| *wait < self.time_left()) else {
                self.asked_wait = error.retry_after();
                return Err(error);
            };
            tracing::debug!(%error, ?wait, "registry request is tried again");
            #[expect(
                clippy::disallowed_methods,
                reason = "between the few tries of one request, within the time of the object"
            )]
            let pause = tokio::time::sleep(wait);
            self.in_time(pause).await.map_err(|_| error)?;
        }
    }

    async fn attempt(
        &mut self,
        extra: &Extra,
        method: &Method,
        locate: &impl Fn(&Url) -> Url,
    ) -> Result<Answer, Error> {
        let (endpoint, pass) = self.way().await?;
        let url = locate(&endpoint.base);
        let mut request = self.client.request(method.clone(), url.clone()).header(header::ACCEPT, ACCEPT);
        // The pass is for this registry, wherever the request goes.
        if url.origin() == endpoint.base.origin() {
            request = pass.apply(request);
        }
        if extra.start > 0 {
            request = request.header(header::RANGE, format!("bytes={}-", extra.start));
        }
        if let Some((media_type, content)) = &extra.content {
            request = content.sent_with(request.header(header::CONTENT_TYPE, media_type));
        }
        let response = self.send(request, method, &url).await?;
        if response.status().is_success() {
            return Ok(Answer { asked: url, response });
        }
        Err(self.in_time(Error::refused(method, &url, response, &self.told())).await?)
    }

    /// Returns true when a refusal may come from a way in that is no longer the right one.
    fn knows_old_way(&self) -> bool {
        matches!(&self.way, Some((_, crate::access::Pass::Bearer(_))))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
    use parking_lot::Mutex;
    use rstest::rstest;
    use weir_auth::RegistryCredentials;
    use weir_testkit::{SinkAnswer, WebhookSink};

    use super::*;
    use crate::{Registries, RegistryOptions, Repository};

    #[rstest]
    #[case("//evil.com/x", "https://h.io/v2///evil.com/x")]
    #[case("https://evil.com/x", "https://h.io/v2/https://evil.com/x")]
    #[case("a?b#c", "https://h.io/v2/a%3Fb%23c")]
    #[case("a/blobs/uploads/", "https://h.io/v2/a/blobs/uploads/")]
    fn paths_lead_to_no_other_host(#[case] path: &str, #[case] url: &str) {
        assert_eq!(below(&Url::parse("https://h.io/v2/").unwrap(), path).as_str(), url);
    }

    /// SRC-OCI-14: the last words of a registry that is out of order are kept, however short the time is.
    #[tokio::test]
    async fn what_a_registry_says_is_told_when_the_time_is_over() {
        let registry = WebhookSink::start().await.unwrap();
        registry.answer_with(|request| SinkAnswer {
            status: if request.path == "/v2/" { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE },
            ..SinkAnswer::default()
        });
        let address = registry.url("").replace("http://", "");
        let repository = Repository::parse(&format!("{}/app", address.trim_end_matches('/'))).unwrap();
        let options =
            RegistryOptions { insecure: true, timeout: Duration::from_secs(2), ..RegistryOptions::default() };
        let mut handle = Registries::new().open(&repository, options).unwrap();
        let error = handle.resolve("v1").await.unwrap_err();
        let is_refusal = matches!(error, Error::Refused { status: StatusCode::SERVICE_UNAVAILABLE, .. });
        assert!(is_refusal, "{error}");
    }

    /// A worker does not wait for long: the run ends, and its queue tries again.
    #[tokio::test]
    async fn a_registry_that_asks_for_patience_is_left_alone() {
        let registry = WebhookSink::start().await.unwrap();
        registry.answer_with(|request| match request.path.as_str() {
            "/v2/" => SinkAnswer::default(),
            _ => SinkAnswer {
                status: StatusCode::TOO_MANY_REQUESTS,
                headers: HeaderMap::from_iter([(header::RETRY_AFTER, HeaderValue::from_static("20"))]),
                ..SinkAnswer::default()
            },
        });
        let address = registry.url("/app").replace("http://", "");
        let options = RegistryOptions { insecure: true, ..RegistryOptions::default() };
        let mut handle = Registries::new().open(&Repository::parse(&address).unwrap(), options).unwrap();
        let error = handle.head("v1").await.unwrap_err();
        assert_eq!(error.retry_after(), Some(Duration::from_secs(20)), "{error}");
        assert_eq!(handle.asked_wait(), error.retry_after());
        let asked = registry.requests().into_iter().filter(|request| request.path != "/v2/").count();
        assert_eq!(asked, 1);
    }

    /// A registry that asks for nothing at its door may ask for a login at some of its repositories.
    #[rstest]
    #[case::asked_for(StatusCode::UNAUTHORIZED)]
    #[case::not_asked_for(StatusCode::OK)]
    #[tokio::test]
    async fn the_pass_stays_with_the_registry(#[case] door: StatusCode) {
        let (registry, stranger) = (WebhookSink::start().await.unwrap(), WebhookSink::start().await.unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        for (name, sink) in [("registry", &registry), ("stranger", &stranger)] {
            let seen = seen.clone();
            sink.answer_with(move |request| {
                if request.path == "/v2/" {
                    let basic = HeaderValue::from_static("Basic realm=\"x\"");
                    let headers = HeaderMap::from_iter([(header::WWW_AUTHENTICATE, basic)]);
                    return SinkAnswer { status: door, headers, ..SinkAnswer::default() };
                }
                seen.lock().push((name, request.headers.contains_key(header::AUTHORIZATION)));
                SinkAnswer::default()
            });
        }
        let address = registry.url("").replace("http://", "");
        let repository = Repository::parse(&format!("{}/app", address.trim_end_matches('/'))).unwrap();
        let credentials = RegistryCredentials::Basic { username: "u".into(), password: "p".into() };
        let options = RegistryOptions { insecure: true, credentials, ..RegistryOptions::default() };
        let mut handle = Registries::new().open(&repository, options).unwrap();
        handle.request(Method::GET, "tags/list").await.unwrap();
        let elsewhere = Url::parse(&stranger.url("/v2/app/tags/list")).unwrap();
        handle.request_at(Method::GET, |_| elsewhere.clone()).await.unwrap();
        assert_eq!(*seen.lock(), [("registry", true), ("stranger", false)]);
    }
}
