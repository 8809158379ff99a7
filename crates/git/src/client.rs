//! The entry: bounded blocking work, one deadline per operation.

use std::sync::Arc;

use gix_hash::ObjectId;
use tokio::sync::Semaphore;
use weir_http::Clients;

use crate::error::Error;
use crate::operation::Registered;
use crate::reference::{Reference, RemoteRef};
use crate::remote::Remote;
use crate::ssh_algorithms::SshAlgorithms;
use crate::store::{Directory, Place};
use crate::{Checkout, CommitInfo, Fetched, PushRequest};
use crate::{fetch, push, transport};

/// Operations at a time, when the caller does not say. Each holds a thread and the buffers of a pack.
const DEFAULT_CONCURRENCY: usize = 8;
/// Name of the client. Some hosted servers give repositories only to what calls itself `git/…`, as Git itself does; to others they show
/// web pages.
const USER_AGENT: &str = "git/1.0";

/// Settings of the client.
#[derive(Debug, Clone)]
pub struct GitConfig {
    /// Operations at a time.
    pub concurrency: usize,
    /// Algorithms offered to SSH servers.
    pub ssh: SshAlgorithms,
    /// Called with the name of each step of a download that is done; tests end the process there.
    pub step: fn(&'static str),
}

/// Steps of a download, in their order: what [`GitConfig::step`] is called with.
pub const STEPS: [&str; 4] = ["git-pack-received", "git-roots-noted", "git-pack-kept", "git-tip-noted"];

impl Default for GitConfig {
    fn default() -> Self {
        Self { concurrency: DEFAULT_CONCURRENCY, ssh: SshAlgorithms::default(), step: |_| {} }
    }
}

/// Git client. Cheap to clone; share one per process.
#[derive(Clone)]
pub struct Git {
    permits: Arc<Semaphore>,
    clients: Clients,
    ssh: Arc<SshAlgorithms>,
    step: fn(&'static str),
}

impl Git {
    /// A client; prepares libgit2 for this process.
    ///
    /// # Errors
    /// When libgit2 cannot be prepared.
    pub fn new(config: GitConfig) -> Result<Self, Error> {
        transport::initialise()?;
        let permits = Arc::new(Semaphore::new(config.concurrency.max(1)));
        let (ssh, step) = (Arc::new(config.ssh), config.step);
        Ok(Self { permits, clients: Clients::new(USER_AGENT), ssh, step })
    }

    /// The references of a remote.
    ///
    /// # Errors
    /// When the remote cannot be reached or does not let us.
    pub async fn list(&self, remote: &Remote) -> Result<Vec<RemoteRef>, Error> {
        self.run(remote, fetch::list).await
    }

    /// Resolves `reference` and fetches it, in one session. When it resolves to the revision `known`, nothing is
    /// fetched; a pinned commit costs no request at all then.
    ///
    /// # Errors
    /// When the remote cannot be reached, does not let us, or has no such reference.
    pub async fn fetch(
        &self,
        remote: &Remote,
        reference: &Reference,
        known: Option<&str>,
    ) -> Result<Fetched, Error> {
        if let (Some(revision), Some(known)) = (reference.fixed_revision(), known)
            && revision == known
        {
            return Ok(Fetched::Unchanged { revision });
        }
        let (reference, known, place) = (reference.clone(), known.map(str::to_owned), remote.place().await?);
        self.run(remote, move |operation| fetch::fetch(operation, place, &reference, known.as_deref())).await
    }

    /// A shallow clone of a branch.
    ///
    /// # Errors
    /// As [`Git::fetch`].
    pub async fn clone_branch(&self, remote: &Remote, branch: &str) -> Result<Checkout, Error> {
        match self.fetch(remote, &Reference::Branch(branch.to_owned()), None).await? {
            Fetched::New(checkout) => Ok(checkout),
            // Nothing is known, so nothing can be unchanged.
            Fetched::Unchanged { revision } => Err(Error::RefNotFound { name: revision }),
        }
    }

    /// A repository of our own without any commit, for the first commit of a remote that has none.
    ///
    /// # Errors
    /// When no folder can be made for it.
    pub fn empty(&self) -> Result<Checkout, Error> {
        let (directory, _) = Directory::at(Place::Own)?;
        Checkout::of_nothing(directory)
    }

    /// Fetches another branch into a clone; nothing when the remote has no such branch.
    ///
    /// # Errors
    /// As [`Git::fetch`].
    pub async fn fetch_more(
        &self,
        remote: &Remote,
        checkout: &Checkout,
        branch: &str,
    ) -> Result<Option<CommitInfo>, Error> {
        let (directory, branch) = (checkout.share(), branch.to_owned());
        self.run(remote, move |operation| fetch::fetch_more(operation, &directory, &branch)).await
    }

    /// Returns true when nothing of `ancestor` is lost where `commit` takes its place: it is the same commit, or in the
    /// history of `commit`. Both must be on the remote. Costs a download of that history.
    ///
    /// # Errors
    /// When the remote cannot be reached or does not let us.
    pub async fn is_ancestor(
        &self,
        remote: &Remote,
        ancestor: ObjectId,
        commit: ObjectId,
    ) -> Result<bool, Error> {
        self.run(remote, move |operation| fetch::is_ancestor(operation, ancestor, commit)).await
    }

    /// Pushes a commit of a clone by compare-and-swap.
    ///
    /// # Errors
    /// [`Error::LeaseLost`] when someone else was faster, [`Error::PushRejected`] when the server refuses.
    pub async fn push(
        &self,
        remote: &Remote,
        checkout: &Checkout,
        request: PushRequest,
    ) -> Result<(), Error> {
        let directory = checkout.share();
        self.run(remote, move |operation| push::push(operation, &directory, &request)).await
    }

    async fn run<T: Send + 'static>(
        &self,
        remote: &Remote,
        work: impl FnOnce(&Registered) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let http = match remote.url.scheme() {
            "http" | "https" => Some(self.clients.get(&remote.http)?),
            "ssh" => None,
            scheme => return Err(Error::Scheme { scheme: scheme.to_owned() }),
        };
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| Error::Cancelled)?;
        let cancel = remote.cancel.child_token();
        let operation =
            Registered::new(remote.clone(), http, Arc::clone(&self.ssh), cancel.clone(), self.step);
        // A caller that goes away takes its operation along.
        let _guard = cancel.drop_guard();
        let running = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work(&operation).map_err(|error| operation.operation().reason(error))
        });
        running.await.map_err(|error| Error::WorkDirectory { source: std::io::Error::other(error) })?
    }
}
