//! Names in references are anyone's words, and become part of a path. The API server takes `..` for a name; what stands in
//! front of it may take it for a way to another namespace (SRC-SCK-6).

use std::task::{Context, Poll};

use futures::future::{Either, Ready, TryFutureExt, ready};
use http::Request;
use tower::{BoxError, Layer, Service};

/// Refuses requests whose path leads somewhere else than it begins.
#[derive(Clone, Copy)]
pub(super) struct Confining;

impl<S> Layer<S> for Confining {
    type Service = Confined<S>;

    fn layer(&self, inner: S) -> Confined<S> {
        Confined { inner }
    }
}

#[derive(Clone)]
pub(super) struct Confined<S> {
    inner: S,
}

type Refused<T> = Ready<Result<T, BoxError>>;

impl<S, B> Service<Request<B>> for Confined<S>
where
    S: Service<Request<B>>,
    S::Error: Into<BoxError>,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Either<futures::future::ErrInto<S::Future, BoxError>, Refused<S::Response>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        if leads_elsewhere(request.uri().path()) {
            return Either::Right(ready(Err("a name is no part of a path".into())));
        }
        Either::Left(self.inner.call(request).err_into())
    }
}

/// Returns true when a path has a component that proxies understand as another one.
fn leads_elsewhere(path: &str) -> bool {
    path.split('/').any(|part| {
        let plain = part.replace("%2e", ".").replace("%2E", ".");
        matches!(plain.as_str(), "." | "..")
            || part.contains("%2f")
            || part.contains("%2F")
            || part.contains('\\')
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("/api/v1/namespaces/a/secrets/b", false)]
    #[case("/api/v1/namespaces/a/secrets/b..c.", false)]
    #[case("/apis/a/b/namespaces/c/d/e/status", false)]
    #[case("/api/v1/namespaces/a/secrets/../../b/secrets/c", true)]
    #[case("/api/v1/namespaces/a/secrets/.", true)]
    #[case("/api/v1/namespaces/a/secrets/%2e%2E/%2e./b/secrets/c", true)]
    #[case("/api/v1/namespaces/a/secrets/..%2f..%2Fb", true)]
    #[case("/api/v1/namespaces/a/secrets/..\\..\\b", true)]
    fn paths(#[case] path: &str, #[case] expected: bool) {
        assert_eq!(leads_elsewhere(path), expected);
    }

    #[tokio::test]
    async fn what_leads_elsewhere_is_not_asked_for() {
        let inner = tower::service_fn(|_: Request<()>| ready(Ok::<_, BoxError>("asked")));
        let mut confined = Confining.layer(inner);
        let request = |path: &str| Request::get(path).body(()).unwrap();
        assert_eq!(confined.call(request("/api/v1/namespaces/a/secrets/b")).await.unwrap(), "asked");
        let refused = confined.call(request("/api/v1/namespaces/a/secrets/../c")).await;
        assert_eq!(refused.unwrap_err().to_string(), "a name is no part of a path");
    }
}
