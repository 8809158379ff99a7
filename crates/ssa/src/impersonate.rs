use kube::Client;
use kube::client::Body;

/// Makes a client that speaks as a ServiceAccount in every request that it makes (KS-IMP-1).
///
/// It uses the connections of `base`. Make one for a run and do not keep it: it has a queue of some KiB and a task of its own.
pub fn impersonate(base: Client, namespace: &str, name: &str) -> Client {
    let default_namespace = base.default_namespace().to_owned();
    let user = format!("system:serviceaccount:{namespace}:{name}");
    let service = tower::service_fn(move |mut request: http::Request<Body>| {
        let base = base.clone();
        let value = http::HeaderValue::from_str(&user);
        async move {
            let value = value.map_err(|error| kube::Error::HttpError(error.into()))?;
            // Over whatever a caller has put there.
            request.headers_mut().insert("impersonate-user", value);
            base.send(request).await
        }
    });
    Client::new(service, default_namespace)
}
