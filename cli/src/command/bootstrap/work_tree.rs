//! The repository that is bootstrapped from: its files at the newest commit, and new commits on it.

use std::time::Duration;

use jiff::Timestamp;
use weir_git::{Author, Checkout, CommitRequest, Error as GitError, Lease, ObjectId, PushRequest, Signer};
use weir_kustomize::{FileSystem, FsPath};
use weir_remote_bases::CommitTree;

use super::plan::Plan;
use crate::error::Error;
use crate::kustomization;
use crate::output::progress;

/// Times that a clone is tried, and the time between.
const TRIES: u32 = 2;
const PAUSE: Duration = Duration::from_secs(2);

/// Bytes of a manifest that is compared or applied.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// The repository at its newest commit.
pub(super) struct WorkTree {
    checkout: Checkout,
    /// Commit that the branch has on the server; the null one when there is none.
    pushed: ObjectId,
}

impl WorkTree {
    /// Fetches the branch. A repository without any commit is begun here.
    pub(super) async fn clone(plan: &Plan) -> Result<Self, Error> {
        progress::action(&format!(
            "cloning branch \"{}\" from Git repository \"{}\"",
            plan.flags.branch, plan.url
        ));
        let tree = Self::fetch(plan).await?;
        progress::success("cloned repository");
        Ok(tree)
    }

    /// As [`WorkTree::clone`], without a word when all goes well.
    pub(super) async fn fetch(plan: &Plan) -> Result<Self, Error> {
        let mut tries = 1;
        loop {
            let error = match Self::fetch_once(plan).await {
                Ok(tree) => return Ok(tree),
                Err(error) => error,
            };
            progress::warning(&format!(" clone failure: {error}"));
            if tries >= TRIES {
                return Err(Error::Bootstrap(format!("failed to clone repository: {error}")));
            }
            tries += 1;
            #[expect(clippy::disallowed_methods, reason = "between the few tries of one command")]
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn fetch_once(plan: &Plan) -> Result<Self, GitError> {
        let checkout = match plan.git.clone_branch(&plan.remote, &plan.flags.branch).await {
            Err(GitError::Empty) => plan.git.empty()?,
            cloned => cloned?,
        };
        let pushed = checkout.commit().id;
        Ok(Self { checkout, pushed })
    }

    /// The newest commit.
    pub(super) fn head(&self) -> ObjectId {
        self.checkout.commit().id
    }

    /// The files at the newest commit.
    pub(super) fn files(&self) -> Result<CommitTree, Error> {
        CommitTree::new(&self.checkout, &[]).map_err(|error| Error::Bootstrap(error.to_string()))
    }

    /// Returns the content of a file, if it is there.
    pub(super) fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Error> {
        let (files, path) = (self.files()?, rooted(path)?);
        if !files.is_file(&path) {
            return Ok(None);
        }
        files.read(&path, MAX_FILE).map(Some).map_err(|error| Error::Bootstrap(error.to_string()))
    }

    /// Builds the kustomization of a folder.
    pub(super) fn build(&self, folder: &str) -> Result<Vec<serde_json::Value>, Error> {
        kustomization::objects(&self.files()?, &rooted(folder)?)
    }

    /// Commits files, if that changes any of them; returns the new commit.
    pub(super) fn commit(
        &mut self,
        plan: &Plan,
        subject: &str,
        files: Vec<(String, String)>,
    ) -> Result<Option<ObjectId>, Error> {
        let mut edits = Vec::new();
        for (path, text) in files {
            if self.read(&path)?.as_deref() != Some(text.as_bytes()) {
                edits.push((path, text.into_bytes()));
            }
        }
        if edits.is_empty() {
            return Ok(None);
        }
        let flags = &plan.flags.commit;
        let message = match flags.commit_message_appendix.as_str() {
            "" => subject.to_owned(),
            appendix => format!("{subject}\n\n{appendix}"),
        };
        let now = Timestamp::now();
        let author = Author {
            name: flags.author_name.clone(),
            email: flags.author_email.clone(),
            time: now.as_second(),
        };
        let key = plan.signing_key.as_ref();
        let sign = key.map(|key| move |bytes: &[u8]| key.sign(bytes, now).map_err(|error| error.to_string()));
        let sign = sign.as_ref().map(|sign| sign as &Signer<'_>);
        let request = CommitRequest { parent: self.head(), edits, message, author, sign };
        let failed = |error: GitError| Error::Bootstrap(format!("failed to commit: {error}"));
        let commit = self.checkout.commit_edits(request).map_err(failed)?;
        self.checkout = self.checkout.at(commit).map_err(failed)?;
        Ok(Some(commit))
    }

    /// Pushes the newest commit, unless somebody else has pushed meanwhile.
    pub(super) async fn push(&mut self, plan: &Plan) -> Result<(), GitError> {
        let lease = if self.pushed.is_null() { Lease::Absent } else { Lease::Expect(self.pushed) };
        let refname = format!("refs/heads/{}", plan.flags.branch);
        let request = PushRequest { commit: self.head(), refname, lease, options: Vec::new() };
        plan.git.push(&plan.remote, &self.checkout, request).await?;
        self.pushed = self.head();
        Ok(())
    }
}

fn rooted(path: &str) -> Result<FsPath, Error> {
    FsPath::new(path).map_err(|error| Error::Bootstrap(error.to_string()))
}
