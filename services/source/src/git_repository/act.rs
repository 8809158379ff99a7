//! The work of a run: fetch, verify, make the artifact.

use std::io;

use weir_api::source::GitRepositorySpec;
use weir_api::{Artifact, GitRepository};
use weir_artifact::archive::{Sink, find};
use weir_artifact::{RelPath, Revision};
use weir_git::{Checkout, Error, Fetched, Git, Remote, Submodule};

use super::GitReconciler;
use super::decide::{self, Plan, SparsePath};
use super::include::Include;
use super::observe::Observed;
use super::tree::CommitTree;
use super::whole::WholeTree;
use crate::source::{Attempt, Failure, NEW_REVISION, Published, Success, pack_after, sparse};
use crate::storage::NewArtifact;

/// The parts of the repository from which the artifact is made.
pub(super) struct RepositoryParts {
    pub(super) checkout: Checkout,
    pub(super) submodules: Vec<Submodule>,
    pub(super) sparse: Vec<SparsePath>,
}

impl GitReconciler {
    /// Asks the remote, verifies what is new, and makes the artifact of it.
    pub(super) async fn act(
        &self,
        attempt: &mut Attempt<'_, GitRepository>,
        observed: Observed,
        plan: Plan,
    ) -> Result<Success, Failure> {
        let Plan { question, progress, part } = plan;
        let Observed { remote, includes, trust, .. } = observed;
        if let Some(message) = progress {
            attempt.progress(message.to_owned());
        }
        attempt.not_outdated();
        let remote = Remote { part, ..remote };
        let fetched = self.git.fetch(&remote, &question.reference, question.known.as_deref()).await;
        let fetched = fetched.map_err(|error| {
            let (url, has_known) = (&attempt.object.spec.url, attempt.known.is_some());
            decide::fetch_failure(&error, url, &question.reference, has_known)
        })?;
        match (trust?, &fetched) {
            (None, _) => self.ignore_signatures(attempt),
            (Some(trust), Fetched::New(checkout)) => {
                self.verify(attempt, checkout, &question.reference, trust).await?;
            }
            (Some(_), Fetched::Unchanged { .. }) => {}
        }
        match (fetched, &attempt.known) {
            (Fetched::New(checkout), _) => {
                self.make(attempt, &remote, checkout, question.sparse, includes).await
            }
            (Fetched::Unchanged { revision }, Some(known)) => {
                Ok(decide::unchanged(known.clone(), &revision, &question.reference))
            }
            // The remote gets a known revision only if there is one.
            (Fetched::Unchanged { revision }, None) => {
                Err(Failure::fetch("GitOperationFailed", format!("nothing was fetched for '{revision}'")))
            }
        }
    }

    /// Makes the artifact of a commit, stores it, and notes with which settings (SRC-GIT-31, SRC-GIT-32).
    async fn make(
        &self,
        attempt: &mut Attempt<'_, GitRepository>,
        remote: &Remote,
        checkout: Checkout,
        sparse: Vec<SparsePath>,
        includes: Vec<Include>,
    ) -> Result<Success, Failure> {
        let revision = Revision::normalise(checkout.revision());
        let summary = checkout.commit().short_summary();
        let included: Vec<_> = includes.iter().map(|include| include.artifact.clone()).collect();
        let is_as_before = decide::is_as_before(&attempt.object, &included.iter().collect::<Vec<_>>());
        let submodules = submodules(&self.git, &attempt.object.spec, remote, &checkout, &sparse).await?;
        let used = submodules.iter().map(|submodule| (submodule.path.clone(), submodule.url.clone()));
        let used = used.collect();
        let parts = RepositoryParts { checkout: checkout.clone(), submodules, sparse };
        let commit = self.compose(parts, attempt.object.spec.url.clone()).await?;
        if attempt.known.as_ref().is_none_or(|known| known.revision != revision.as_str()) {
            attempt.outdated(NEW_REVISION, &format!("new upstream revision '{revision}'"));
        }
        let whole = self.put_includes(commit, includes).await?;
        let artifact = self.store(attempt, &revision, whole, checkout).await?;
        self.keep_only(remote, used).await;
        note_settings(&mut attempt.object, included);
        let message = format!("stored artifact for commit '{summary}'");
        let same = attempt.known.as_ref().filter(|known| {
            is_as_before && *known.digest == artifact.digest && known.revision == artifact.revision
        });
        Ok(match same {
            // Made again only to verify it, as after a restart: its time and its consumers are left alone.
            Some(known) => Success::up_to_date(known.clone(), message),
            None => Success::new(artifact, message),
        })
    }

    /// Puts the parts of the repository together.
    async fn compose(&self, parts: RepositoryParts, url: String) -> Result<WholeTree, Failure> {
        self.storage.blocking(move || parts.compose(&url)).await.map_err(unmade)?
    }

    /// Puts the artifacts of other repositories into a tree.
    async fn put_includes(&self, mut tree: WholeTree, includes: Vec<Include>) -> Result<WholeTree, Failure> {
        let (store, limits) = (self.storage.store().clone(), self.storage.limits());
        let put = move || {
            includes.into_iter().try_for_each(|include| include.put_into(&mut tree, &store, limits))?;
            Ok(tree)
        };
        self.storage.blocking(put).await.map_err(unmade)?
    }

    /// Stores the artifact of a tree. Parts that the object's last artifact has too are copied from it.
    async fn store(
        &self,
        attempt: &mut Attempt<'_, GitRepository>,
        revision: &Revision,
        whole: WholeTree,
        checkout: Checkout,
    ) -> Result<Artifact, Failure> {
        let at = attempt.object.location().map_err(|error| Failure::storage(&error))?;
        let new = NewArtifact { at, file: format!("{}.tar.gz", revision.hash()), link: None };
        let ignore = attempt.object.spec.ignore.clone();
        let previous = self.packed.take(attempt.key(), self.storage.store());
        let (tell, told) = tokio::sync::oneshot::channel();
        let fill = move |out: &mut dyn Sink| {
            let parts = pack_after(&whole, ignore.as_deref(), previous.as_ref(), out)
                .inspect_err(|error| distrust(&checkout, error))?;
            // Nobody listens when the service ends.
            let _ = tell.send(parts);
            Ok(())
        };
        let stored = attempt.put(&self.storage, new, revision.to_string(), fill).await;
        let artifact = stored.map_err(|error| Failure::storage(&error))?;
        if let Ok(parts) = told.await {
            self.packed.keep(attempt.key(), &artifact, parts);
        }
        Ok(artifact)
    }
}

/// The submodules, as far as the artifact shows them (SRC-GIT-13).
pub(super) async fn submodules(
    git: &Git,
    spec: &GitRepositorySpec,
    remote: &Remote,
    checkout: &Checkout,
    sparse: &[SparsePath],
) -> Result<Vec<Submodule>, Failure> {
    if !spec.recurse_submodules {
        return Ok(Vec::new());
    }
    let shown: Vec<&RelPath> = sparse.iter().filter_map(|sparse| sparse.path.as_ref()).collect();
    let is_shown = |path: &str| {
        let Ok(path) = RelPath::parse(path) else { return false };
        sparse.is_empty() || shown.iter().any(|shown| shown.is_below(&path) || path.is_below(shown))
    };
    let found = git.submodules(remote, checkout, is_shown).await;
    found.map_err(|error| decide::read_failure(&error, &spec.url))
}

impl RepositoryParts {
    /// Puts everything together. Blocks.
    pub(super) fn compose(self, url: &str) -> Result<WholeTree, Failure> {
        let checkout = self.checkout;
        let unreadable = |error: io::Error| {
            distrust(&checkout, &error);
            unmade(error)
        };
        let open = |checkout: &Checkout| {
            CommitTree::open(checkout).map(Box::new).map_err(|error| decide::read_failure(&error, url))
        };
        let mut commit = WholeTree::new(open(&checkout)?);
        for submodule in self.submodules {
            let Ok(path) = RelPath::parse(&submodule.path) else { continue };
            commit.graft(path, open(&submodule.checkout)?, None).map_err(unreadable)?;
        }
        let mut paths = Vec::with_capacity(self.sparse.len());
        for SparsePath { written, path } in self.sparse {
            match path {
                Some(path) if find(&commit, Some(&path)).map_err(unreadable)?.is_some() => paths.push(path),
                _ => return Err(decide::sparse_failure(&written)),
            }
        }
        Ok(WholeTree::new(Box::new(sparse(commit, paths))))
    }
}

/// Makes the failure of a tree that was not put together.
fn unmade(error: io::Error) -> Failure {
    Failure::fetch("GitOperationFailed", error.to_string())
}

/// Notes with which settings and artifacts of others the artifact was made.
fn note_settings(object: &mut GitRepository, included: Vec<Artifact>) {
    let GitRepository { spec, status, .. } = object;
    let status = status.get_or_insert_default();
    status.observed_ignore = spec.ignore.clone();
    status.observed_recurse_submodules = spec.recurse_submodules;
    status.observed_include = spec.include.clone();
    status.observed_sparse_checkout = spec.sparse_checkout.clone();
    status.included_artifacts = included;
}

/// An object that cannot be read is fetched anew at the next try; a full disk is no reason for it.
fn distrust(checkout: &Checkout, error: &io::Error) {
    if error.get_ref().is_some_and(|inner| inner.downcast_ref().is_some_and(Error::is_of_store)) {
        checkout.distrust();
    }
}
