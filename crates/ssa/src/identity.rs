use kube::Client;
use kube::client::Body;
use moka::sync::Cache;

/// Clients kept, one an identity. One costs a queue and a task, no connection: all of them share the base client's.
const MAX_IDENTITIES: u64 = 1024;

/// Clients that speak as others, each made once (KS-IMP-1).
///
/// Key: user name. Cap: 1024, the least used goes first. All share the connections of the base client.
#[derive(Clone)]
pub struct Identities {
    base: Client,
    clients: Cache<String, Client>,
}

impl Identities {
    /// Impersonation by way of a client that is allowed to.
    pub fn new(base: Client) -> Self {
        Self { base, clients: Cache::new(MAX_IDENTITIES) }
    }

    /// The client of the service itself.
    pub fn own(&self) -> Client {
        self.base.clone()
    }

    /// A client that impersonates a ServiceAccount in every request that it makes.
    pub fn service_account(&self, namespace: &str, name: &str) -> Client {
        let user = format!("system:serviceaccount:{namespace}:{name}");
        self.clients.get_with_by_ref(&user, || impersonate(self.base.clone(), &user))
    }

    /// Identities kept at present.
    pub fn len(&self) -> u64 {
        self.clients.run_pending_tasks();
        self.clients.entry_count()
    }

    /// Returns true when no identity is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The header is set on every request, over whatever a caller has put there.
fn impersonate(base: Client, user: &str) -> Client {
    let namespace = base.default_namespace().to_owned();
    let user = user.to_owned();
    let service = tower::service_fn(move |mut request: http::Request<Body>| {
        let base = base.clone();
        let value = http::HeaderValue::from_str(&user);
        async move {
            let value = value.map_err(|error| kube::Error::HttpError(error.into()))?;
            request.headers_mut().insert("impersonate-user", value);
            base.send(request).await
        }
    });
    Client::new(service, namespace)
}
