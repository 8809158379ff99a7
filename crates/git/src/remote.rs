//! A repository somewhere else and everything needed to talk to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use secrecy::SecretString;
use tokio_util::sync::CancellationToken;
use url::Url;
use weir_http::{Profile, Proxy};

use crate::credentials::Credentials;
use crate::error::Error;
use crate::part::Part;
use crate::store::{Place, Store};

/// Time for one operation when the object does not say (`spec.timeout`, SRC-TYP-3).
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// A remote repository with what one operation needs to reach it.
#[derive(Debug, Clone)]
pub struct Remote {
    /// `http`, `https` or `ssh`. User info in it fills what the credentials leave open.
    pub url: Url,
    /// Credentials.
    pub credentials: Credentials,
    /// Certificates for HTTPS, and the proxy; SSH goes through it too, unless it is an `https` one.
    pub http: Profile,
    /// Store that keeps fetched objects for the next fetch; nothing for a folder that goes with the checkout.
    pub store: Option<Store>,
    /// Part of a commit's files that is needed; none for all of them. Servers that do not offer parts give
    /// everything.
    pub part: Option<Part>,
    /// Bytes that are downloaded at most, submodules included; nothing for this crate's own cap on each download.
    pub allowance: Option<Allowance>,
    /// Time for each operation, from connect to the last byte.
    pub timeout: Duration,
    /// Ends the operation early.
    pub cancel: CancellationToken,
}

/// Bytes that several downloads may have together. Clones share what is left.
#[derive(Debug, Clone)]
pub struct Allowance(Arc<AtomicUsize>);

impl Allowance {
    /// An allowance of so many bytes.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(bytes)))
    }

    pub(crate) fn left(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn spend(&self, bytes: usize) {
        // The function always has a result.
        let _before = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(left.saturating_sub(bytes)));
    }
}

impl Remote {
    /// A remote without credentials and with the default timeout.
    #[must_use]
    pub fn new(url: Url) -> Self {
        Self {
            url,
            credentials: Credentials::None,
            http: Profile::default(),
            store: None,
            part: None,
            allowance: None,
            timeout: DEFAULT_TIMEOUT,
            cancel: CancellationToken::new(),
        }
    }

    /// Returns the secrets that server and proxy get and no error may repeat (SRC-SCK-11). A key never leaves this
    /// process.
    pub(crate) fn told(&self) -> Vec<SecretString> {
        let mut told = match &self.credentials {
            Credentials::None | Credentials::Ssh(_) | Credentials::SshAgent(_) => Vec::new(),
            Credentials::Basic { username, password } => weir_http::told_by_basic(username, password),
            Credentials::Bearer(token) => vec![token.clone()],
        };
        told.extend(self.http.proxy.iter().flat_map(Proxy::told));
        told
    }

    /// Waits until nobody else works in the store, and returns the folder to work in.
    pub(crate) async fn place(&self) -> Result<Place, Error> {
        let Some(store) = &self.store else { return Ok(Place::Own) };
        tokio::select! {
            () = self.cancel.cancelled() => Err(Error::Cancelled),
            place = tokio::time::timeout(self.timeout, store.turn(&self.url)) => place.map_err(|_| Error::Deadline),
        }
    }
}
