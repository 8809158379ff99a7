//! The Kubernetes client of a service: named, counted in `rest_client_requests_total` (KS-MET-3), and confined to the
//! paths that it means.

mod busy;
mod confined;
pub mod kubeconfig;
mod proxy;
mod tls;
mod transport;

use std::task::{Context, Poll};

use futures::future::{InspectOk, TryFutureExt};
use http::{HeaderName, HeaderValue, Request, Response};
use kube::client::{Body, DynBody};
use tower::util::BoxLayer;
use tower::{BoxError, Layer, Service};

use self::confined::Confining;
pub use self::transport::{Transport, builder};
use crate::metrics::RequestMetrics;

/// Name in the API server's audit log.
const USER_AGENT: HeaderValue = HeaderValue::from_static(concat!("weir/", env!("CARGO_PKG_VERSION")));

/// Adds the credentials to requests that a configuration has no place for.
pub type Login = BoxLayer<Transport, Request<Body>, Response<Box<DynBody>>, BoxError>;

/// Builds a client whose requests carry Weir's name and are counted.
///
/// # Errors
///
/// When the configuration's certificates or credentials are not usable.
pub fn client(
    mut config: kube::Config,
    metrics: RequestMetrics,
    login: Option<&Login>,
) -> kube::Result<kube::Client> {
    config.headers.push((HeaderName::from_static("user-agent"), USER_AGENT));
    let host = config.cluster_url.authority().map(ToString::to_string).unwrap_or_default();
    let builder = builder(config)?;
    let builder = match login {
        Some(login) => builder.with_layer(login),
        None => builder,
    };
    Ok(builder.with_layer(&Counting { metrics, host }).with_layer(&Confining).build())
}

/// Returns true when another write came first.
pub(crate) fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 409)
}

/// Returns the API server's own message, without the whole answer that the client's text repeats behind it.
pub fn reason(error: kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message,
        other => other.to_string(),
    }
}

#[derive(Clone)]
struct Counting {
    metrics: RequestMetrics,
    host: String,
}

impl<S> Layer<S> for Counting {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted { inner, counting: self.clone() }
    }
}

#[derive(Clone)]
struct Counted<S> {
    inner: S,
    counting: Counting,
}

type Count<B> = Box<dyn FnOnce(&Response<B>) + Send>;

impl<S, B> Service<Request<Body>> for Counted<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    B: 'static,
{
    type Response = Response<B>;
    type Error = S::Error;
    type Future = InspectOk<S::Future, Count<B>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (method, Counting { metrics, host }) = (request.method().clone(), self.counting.clone());
        let count: Count<B> = Box::new(move |response| metrics.sent(&method, response.status(), &host));
        self.inner.call(request).inspect_ok(count)
    }
}
