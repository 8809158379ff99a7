//! One operation: what its transport needs, and why it failed.
//!
//! libgit2, which pushes, knows transports by URL scheme only. So an operation is given a number, the number is the host
//! of the URL that libgit2 sees, and the transport finds the operation by it (DEP-GIT-2).

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::remote::Remote;
use crate::ssh_algorithms::SshAlgorithms;

/// Scheme under which HTTP(S) operations are known to libgit2.
pub(crate) const HTTP_SCHEME: &str = "weir+http";
/// Scheme under which SSH operations are known to libgit2.
pub(crate) const SSH_SCHEME: &str = "weir+ssh";

static RUNNING: LazyLock<Mutex<HashMap<u64, Arc<Operation>>>> = LazyLock::new(Mutex::default);
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The transports' view of an operation.
pub(crate) struct Operation {
    pub(crate) remote: Remote,
    pub(crate) http: Option<reqwest::Client>,
    pub(crate) ssh: Arc<SshAlgorithms>,
    pub(crate) step: fn(&'static str),
    runtime: Handle,
    deadline: Instant,
    cancel: CancellationToken,
    failure: Mutex<Option<Error>>,
}

/// An operation that transports can find; they no longer can once this is dropped.
pub(crate) struct Registered {
    id: u64,
    operation: Arc<Operation>,
}

impl Registered {
    /// Makes an operation known. `http` is the client for HTTP(S) remotes. Must be called inside a tokio runtime.
    pub(crate) fn new(
        remote: Remote,
        http: Option<reqwest::Client>,
        ssh: Arc<SshAlgorithms>,
        cancel: CancellationToken,
        step: fn(&'static str),
    ) -> Self {
        let deadline = Instant::now() + remote.timeout;
        let runtime = Handle::current();
        let operation = Arc::new(Operation {
            remote,
            http,
            ssh,
            step,
            runtime,
            deadline,
            cancel,
            failure: Mutex::new(None),
        });
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        RUNNING.lock().insert(id, Arc::clone(&operation));
        Self { id, operation }
    }

    /// The URL under which libgit2 reaches the remote.
    pub(crate) fn url(&self) -> String {
        let scheme = if self.operation.is_http() { HTTP_SCHEME } else { SSH_SCHEME };
        format!("{scheme}://{}/", self.id)
    }

    pub(crate) fn operation(&self) -> &Arc<Operation> {
        &self.operation
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        RUNNING.lock().remove(&self.id);
    }
}

/// The operation behind a URL that libgit2 hands to a transport.
pub(crate) fn find(url: &str) -> Option<Arc<Operation>> {
    let (_, rest) = url.split_once("://")?;
    let id = rest.split('/').next()?.parse().ok()?;
    RUNNING.lock().get(&id).cloned()
}

impl Operation {
    /// Returns true when the remote is spoken to over HTTP(S), where each request is on its own.
    pub(crate) fn is_http(&self) -> bool {
        self.http.is_some()
    }

    /// Runs a future to its end on this blocking thread, unless deadline or cancellation come first.
    pub(crate) fn wait<T>(&self, future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => Err(Error::Cancelled),
                result = tokio::time::timeout_at(self.deadline, future) => result.unwrap_or(Err(Error::Deadline)),
            }
        })
    }

    /// Returns true when the operation may go on.
    pub(crate) fn is_live(&self) -> bool {
        !self.cancel.is_cancelled() && Instant::now() < self.deadline
    }

    /// Ends what is read once the operation may not go on.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.is_live() { Ok(()) } else { Err(io::Error::other("the operation is over")) }
    }

    /// Returns true when a transport has said why the operation failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.lock().is_some()
    }

    /// Forgets the reason of a failure that does not matter.
    pub(crate) fn forget_failure(&self) {
        self.failure.lock().take();
    }

    /// Returns an error without the secrets that the server got and may have repeated (SRC-SCK-11).
    pub(crate) fn discreet(&self, error: Error) -> Error {
        error.without(&self.remote.told())
    }

    /// Remembers the reason of a failure; libgit2 gets a shorter one. The first reason stays.
    pub(crate) fn fail(&self, error: Error) -> io::Error {
        let error = self.discreet(error);
        let shown = io::Error::other(error.to_string());
        self.failure.lock().get_or_insert(error);
        shown
    }

    /// The reason behind an error of a library: what a transport remembered, or that the time was over.
    pub(crate) fn reason(&self, error: Error) -> Error {
        if let Some(reason) = self.failure.lock().take() {
            return reason;
        }
        let is_ours = !matches!(error, Error::Library { .. } | Error::Objects(_));
        match error {
            error if is_ours => self.discreet(error),
            _ if self.cancel.is_cancelled() => Error::Cancelled,
            _ if Instant::now() >= self.deadline => Error::Deadline,
            error => self.discreet(error),
        }
    }
}
