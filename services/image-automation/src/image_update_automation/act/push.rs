//! Moves references of the remote, each only from where it was seen (IU-14, IU-15).

use tokio_util::sync::CancellationToken;
use weir_git::{Checkout, Error, Lease, ObjectId, PushRequest, Remote};
use weir_runtime::Failure;

use super::super::{Automation, decide::Work, failure};
use crate::git_source::Refspec;

/// The target of a commit.
pub(super) struct Target {
    /// The commit that it follows.
    pub(super) base: ObjectId,
    /// State that the branch must have.
    lease: Lease,
}

impl Target {
    /// The place behind the last commit of the branch.
    pub(super) fn after(head: ObjectId) -> Self {
        Self::over(head, head)
    }

    /// A branch that begins with `base`.
    pub(super) fn new_branch(base: ObjectId) -> Self {
        Self { base, lease: Lease::Absent }
    }

    /// The place behind `base`, where the branch has another last commit.
    pub(super) fn over(base: ObjectId, head: ObjectId) -> Self {
        Self { base, lease: Lease::Expect(head) }
    }

    /// The last commit of the branch, if the new one comes behind it.
    pub(super) fn head(&self) -> Option<ObjectId> {
        (self.lease == Lease::Expect(self.base)).then_some(self.base)
    }

    /// The last commit of the branch, if the new one does not come behind it.
    pub(super) fn dropped(&self) -> Option<ObjectId> {
        match self.lease {
            Lease::Expect(head) if head != self.base => Some(head),
            _ => None,
        }
    }
}

/// An update that would drop commits.
pub(super) fn not_fast_forward(refname: &str) -> Error {
    let reason = "non-fast-forward update".to_owned();
    Error::PushRejected { refname: refname.to_owned(), reason, said: Vec::new() }
}

impl Automation {
    pub(super) async fn push_branch(
        &self,
        work: &Work,
        checkout: &Checkout,
        commit: ObjectId,
        target: Target,
    ) -> Result<(), Error> {
        let request = PushRequest {
            commit,
            refname: work.git.push_ref(),
            lease: target.lease,
            options: work.git.options.clone(),
        };
        self.push(work, &to_the_end(&work.access.remote), checkout, request).await
    }

    /// Pushes, without the options where the server takes none, as Flux does.
    async fn push(
        &self,
        work: &Work,
        remote: &Remote,
        checkout: &Checkout,
        request: PushRequest,
    ) -> Result<(), Error> {
        let pushed = match self.git.push(remote, checkout, request.clone()).await {
            Err(error @ Error::PushOptionsUnsupported) => {
                tracing::warn!(%error, automation = %work.automation, "pushing without options");
                self.git.push(remote, checkout, PushRequest { options: Vec::new(), ..request }).await
            }
            pushed => pushed,
        };
        self.metrics.pushed(&pushed);
        pushed
    }

    /// Pushes the refspec, if there is one. `commit` is the head of the push branch now, `base` what it was before: the same commit
    /// when a refspec is owed. Without a plus sign, only a destination whose commits are all in what is pushed is moved. Goes on when the run is superseded, as
    /// the commit is pushed already.
    pub(super) async fn push_refspec(
        &self,
        work: &Work,
        checkout: &Checkout,
        commit: ObjectId,
        base: ObjectId,
    ) -> Result<(), Failure> {
        let Some(refspec) = &work.git.refspec else { return Ok(()) };
        let failed = |error: Error| failure::push(&error);
        let source = source_of(work, refspec, checkout, commit).ok_or_else(|| {
            failure::update_source(format!("couldn't find source of refspec '{}'", refspec.text))
        })?;
        let remote = to_the_end(&work.access.remote);
        let lease = match self.head_of(&remote, &refspec.destination).await.map_err(failed)? {
            None => Lease::Absent,
            // Already there, which is what was wanted (IU-12).
            Some(found) if found == source => return Ok(()),
            Some(found) => {
                let is_allowed = refspec.forces
                    || (found == base && source == commit)
                    || self.git.is_ancestor(&remote, found, source).await.map_err(failed)?;
                if !is_allowed {
                    return Err(failed(not_fast_forward(&refspec.destination)));
                }
                Lease::Expect(found)
            }
        };
        let request = PushRequest {
            commit: source,
            refname: refspec.destination.clone(),
            lease,
            options: work.git.options.clone(),
        };
        match self.push(work, &remote, checkout, request).await {
            // The server took it before a status could say so.
            Err(error) if commit == base && is_taken(&error) => Ok(()),
            pushed => pushed.map_err(failed),
        }
    }

    /// The commit at a reference of the remote.
    pub(super) async fn head_of(&self, remote: &Remote, refname: &str) -> Result<Option<ObjectId>, Error> {
        let refs = self.git.list(remote).await?;
        Ok(refs.into_iter().find(|known| known.name == refname).map(|known| known.id))
    }
}

/// Returns true when a server that makes reviews of what is pushed has one of this commit already: its list of references does not
/// show them. The words are those of Gerrit and of Gitea.
fn is_taken(error: &Error) -> bool {
    let Error::PushRejected { reason, .. } = error else { return false };
    ["no new changes", "new commit is same with old commit"].iter().any(|words| reason.contains(words))
}

/// The commit that a refspec's source means: what was just pushed, or what was checked out.
fn source_of(work: &Work, refspec: &Refspec, checkout: &Checkout, commit: ObjectId) -> Option<ObjectId> {
    if refspec.source == "HEAD" || refspec.source == work.git.push_ref() {
        return Some(commit);
    }
    (work.git.checkout_ref()? == refspec.source).then_some(checkout.commit().id)
}

/// The remote without the run's end: pushes that have begun go on when the run is superseded, so that their answers are recorded.
fn to_the_end(remote: &Remote) -> Remote {
    Remote { cancel: CancellationToken::new(), ..remote.clone() }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use weir_git::Error;

    #[rstest]
    #[case::gerrit("no new changes", true)]
    #[case::gitea("new commit is same with old commit", true)]
    #[case::other("prohibited by Gerrit: not permitted: create", false)]
    fn commits_that_a_server_has_in_review(#[case] reason: &str, #[case] expected: bool) {
        let error =
            Error::PushRejected { refname: "refs/for/main".into(), reason: reason.into(), said: Vec::new() };
        assert_eq!(super::is_taken(&error), expected);
    }
}
