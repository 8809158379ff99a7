//! Looks up the names of servers with the system's resolver, as the library does. The error keeps the name: it may be that of a
//! proxy, which the library's own error does not name.

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// A name that cannot be looked up.
#[derive(Debug, thiserror::Error)]
#[error("lookup {name}: {source}")]
pub(crate) struct LookupError {
    /// The name.
    pub(crate) name: String,
    /// The system's error.
    #[source]
    source: std::io::Error,
}

/// The system's resolver.
pub(crate) struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            // The connector sets the port.
            let found = tokio::net::lookup_host((name.as_str(), 0)).await;
            let found = found.map_err(|source| LookupError { name: name.as_str().to_owned(), source })?;
            let addresses: Addrs = Box::new(found.collect::<Vec<_>>().into_iter());
            Ok(addresses)
        })
    }
}
