//! Moves references of the remote, each only from where it was seen (IU-14, IU-15).

use tokio_util::sync::CancellationToken;
use weir_git::{Checkout, CommitInfo, Error, Lease, ObjectId, PushRequest, Remote};
use weir_runtime::Failure;

use super::super::{
    Automation,
    decide::{Commit, Work},
    failure,
};
use crate::git_source::Refspec;

/// The target of a commit.
pub(super) struct Target {
    /// The commit that it follows.
    pub(super) base: ObjectId,
    /// State that the branch must have.
    pub(super) lease: Lease,
    /// True when the branch's last commit is the automation's own and the status does not know it: the run that pushed it came to no
    /// end, and a refspec may not have followed.
    pub(super) is_unrecorded: bool,
}

impl Target {
    /// The place behind the last commit of the branch.
    pub(super) fn after(work: &Work, last: &CommitInfo) -> Self {
        let Commit { name, email, .. } = &work.commit;
        let is_own = last.author == format!("{name} <{email}>");
        let is_known = work.last_push == Some(last.id);
        Self { base: last.id, lease: Lease::Expect(last.id), is_unrecorded: is_own && !is_known }
    }

    /// The place behind a commit that is not the branch's.
    pub(super) fn over(base: ObjectId, lease: Lease) -> Self {
        Self { base, lease, is_unrecorded: false }
    }
}

/// An update that would drop commits.
pub(super) fn not_fast_forward(refname: &str) -> Error {
    Error::PushRejected { refname: refname.to_owned(), reason: "non-fast-forward update".to_owned() }
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

    /// Pushes the refspec, if there is one. `commit` is the head of the push branch now, `base` what it was before. Without a
    /// plus sign, only a destination whose commits are all in what is pushed is moved. Goes on when the run is superseded, as
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
        self.push(work, &remote, checkout, request).await.map_err(failed)
    }

    /// The commit at a reference of the remote.
    pub(super) async fn head_of(&self, remote: &Remote, refname: &str) -> Result<Option<ObjectId>, Error> {
        let refs = self.git.list(remote).await?;
        Ok(refs.into_iter().find(|known| known.name == refname).map(|known| known.id))
    }
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
