//! Does the work: checkout, edit, commit, push.

mod push;
mod source;

use std::time::Instant;

use jiff::Timestamp;
use weir_git::{Author, Checkout, CommitRequest, Error, Fetched, ObjectId, Signer};
use weir_runtime::{Failure, ObjectKey};
use weir_template::{Message, MessageData};

use self::push::Target;
use super::{Automation, Preview, decide::Work, failure, refspec_note::RefspecNote};
use crate::tree::{self, Edits};

/// Tries of a run that lost the race for the branch each time; after that the normal backoff goes on (IU-16).
const MAX_ATTEMPTS: usize = 3;

/// The result of a run.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Done {
    /// Neither the remote nor the policies have changed.
    Skipped,
    /// All marked values are right at this revision.
    UpToDate {
        revision: String,
        /// The commit of an earlier run, whose refspec is pushed now.
        recovered: Option<String>,
    },
    /// A commit was pushed.
    Pushed(Pushed),
}

/// A commit that the server has acknowledged.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pushed {
    pub(super) commit: String,
    /// The revision that the next run compares with.
    pub(super) revision: String,
    pub(super) branch: String,
    pub(super) refspec: Option<String>,
    pub(super) message: String,
}

/// A checkout with the changes that a commit would hold.
struct Prepared {
    checkout: Checkout,
    target: Target,
    edits: Edits,
    message: String,
}

enum Attempt {
    Done(Done),
    /// Someone else moved the branch meanwhile.
    Lost(Error),
}

impl Automation {
    pub(super) async fn act(
        &self,
        work: &Work,
        note: &RefspecNote<'_>,
        now: Timestamp,
    ) -> Result<Done, Failure> {
        let mut tries = 1;
        loop {
            match self.attempt(work, note, now).await? {
                Attempt::Done(done) => return Ok(done),
                Attempt::Lost(error) if tries >= MAX_ATTEMPTS => return Err(failure::push(&error)),
                Attempt::Lost(error) => {
                    tracing::debug!(%error, automation = %work.automation, "starting over")
                }
            }
            tries += 1;
        }
    }

    pub(super) async fn preview_of(&self, work: &Work) -> Result<Option<Preview>, Failure> {
        let Some(prepared) = self.prepare(work).await? else { return Ok(None) };
        let files: Vec<String> = prepared.edits.files.into_iter().map(|(path, _)| path).collect();
        Ok((!files.is_empty()).then_some(Preview { message: prepared.message, files }))
    }

    async fn attempt(&self, work: &Work, note: &RefspecNote<'_>, now: Timestamp) -> Result<Attempt, Failure> {
        let Some(prepared) = self.prepare(work).await? else { return Ok(Attempt::Done(Done::Skipped)) };
        let revision = short(prepared.checkout.revision()).to_owned();
        if prepared.edits.files.is_empty() {
            let owed = prepared.target.head().filter(|head| work.owes_refspec_of(*head));
            if let Some(head) = owed {
                self.push_refspec(work, &prepared.checkout, head, head).await?;
            }
            let recovered = owed.map(|commit| commit.to_string());
            return Ok(Attempt::Done(Done::UpToDate { revision, recovered }));
        }
        let Prepared { checkout, target, edits, message } = prepared;
        let base = target.base;
        let commit = commit(work, &checkout, base, edits, &message, now).await?;
        if let Some(refspec) = &work.git.refspec {
            note.write(refspec, commit).await?;
        }
        match self.push_branch(work, &checkout, commit, target).await {
            Ok(()) => {}
            Err(error @ Error::LeaseLost { .. }) => return Ok(Attempt::Lost(error)),
            Err(error) => return Err(failure::push(&error)),
        }
        weir_runtime::killpoint::hit("after-push");
        // A source that follows another branch has nothing new to fetch.
        if !work.git.switches {
            self.request_source(work, now).await;
        }
        self.push_refspec(work, &checkout, commit, base).await?;
        let pushed = format!("{}@sha1:{commit}", work.git.push_branch);
        Ok(Attempt::Done(Done::Pushed(Pushed {
            commit: commit.to_string(),
            revision: if work.git.follows_push() { pushed } else { revision },
            branch: work.git.push_branch.clone(),
            refspec: work.git.refspec.as_ref().map(|refspec| refspec.text.clone()),
            message,
        })))
    }

    /// Checks out and edits; `None` when there is nothing to do.
    async fn prepare(&self, work: &Work) -> Result<Option<Prepared>, Failure> {
        let url = work.access.remote.url.as_str();
        let fetched =
            self.git.fetch(&work.access.remote, &work.git.checkout, work.known_revision.as_deref()).await;
        let checkout = match fetched.map_err(|error| failure::checkout(&error, url, work.looks_first))? {
            Fetched::Unchanged { .. } => return Ok(None),
            Fetched::New(checkout) => checkout,
        };
        // Parsed before it is needed, so that a broken template does not wait for an image to be noticed (TP-4).
        let (template, engine) = (work.commit.template.clone(), work.commit.engine);
        let template = blocking(move || Message::parse(&template, engine)).await?;
        let template = template.map_err(failure::update_source)?;
        let target = self.target(work, &checkout).await?;
        let (tree, base) = (checkout.clone(), target.base);
        let (path, setters) = (work.path.clone(), work.setters.clone());
        let edits =
            blocking(move || tree::apply(&tree, base, &path, &setters)).await?.map_err(failure::policies)?;
        self.metrics.problem_files.set(&work.automation, edits.problems.len());
        for (path, problem) in &edits.problems {
            tracing::info!(automation = %work.automation, path, problem, "file left as it is");
        }
        for (path, setter) in &edits.idle {
            tracing::debug!(automation = %work.automation, path, setter, "marker has no value");
        }
        if edits.files.is_empty() {
            return Ok(Some(Prepared { checkout, target, edits, message: String::new() }));
        }
        self.check_fast_forward(work, &target).await?;
        let (automation, values) = (work.automation.clone(), work.commit.values.clone());
        let rendered = blocking(move || {
            let ObjectKey { namespace, name } = &automation;
            let data = MessageData { namespace, name, update: &edits.update, values: &values };
            let started = Instant::now();
            let rendered = template.render(&data, &|| started.elapsed());
            let message = rendered.map_err(failure::update_source)?;
            Ok(Some(Prepared { checkout, target, edits, message }))
        });
        rendered.await?
    }

    /// The commit that the new one follows, and what the push branch must still be.
    async fn target(&self, work: &Work, checkout: &Checkout) -> Result<Target, Failure> {
        let head = checkout.commit().id;
        if !work.git.switches {
            return Ok(Target::after(head));
        }
        let (remote, branch) = (&work.access.remote, &work.git.push_branch);
        let target = if work.settings.all_branch_references {
            let last = self.git.fetch_more(remote, checkout, branch).await;
            last.map(|last| last.map_or(Target::new_branch(head), |last| Target::after(last.id)))
        } else {
            // The branch is overwritten with the checkout and one commit (IU-10).
            let found = self.head_of(remote, &work.git.push_ref()).await;
            found.map(|found| found.map_or(Target::new_branch(head), |found| Target::over(head, found)))
        };
        target.map_err(|error| failure::checkout(&error, remote.url.as_str(), false))
    }

    /// Refuses a commit that would drop others from the push branch, where the gate forbids that (IU-10).
    async fn check_fast_forward(&self, work: &Work, target: &Target) -> Result<(), Failure> {
        let Some(dropped) = target.dropped().filter(|_| !work.settings.force_push_branch) else {
            return Ok(());
        };
        match self.git.is_ancestor(&work.access.remote, dropped, target.base).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(failure::push(&push::not_fast_forward(&work.git.push_ref()))),
            Err(error) => Err(failure::push(&error)),
        }
    }
}

/// A revision without the folder of its reference, as Flux notes it also where the checkout names `refs/heads/main` or
/// `refs/pull/1/head`.
fn short(revision: &str) -> &str {
    let name = revision.strip_prefix("refs/").and_then(|rest| rest.split_once('/'));
    name.map_or(revision, |(_, name)| name)
}

async fn commit(
    work: &Work,
    checkout: &Checkout,
    parent: ObjectId,
    edits: Edits,
    message: &str,
    now: Timestamp,
) -> Result<ObjectId, Failure> {
    let author =
        Author { name: work.commit.name.clone(), email: work.commit.email.clone(), time: now.as_second() };
    let (checkout, message, key) = (checkout.clone(), message.to_owned(), work.commit.signing_key.clone());
    let made = blocking(move || {
        let sign = key.map(|key| move |bytes: &[u8]| key.sign(bytes, now).map_err(|error| error.to_string()));
        let sign = sign.as_ref().map(|sign| sign as &Signer<'_>);
        checkout.commit_edits(CommitRequest { parent, edits: edits.files, message, author, sign })
    });
    made.await?.map_err(failure::update_source)
}

/// Runs work on the pool for blocking work; runs are bounded by the controller's workers.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work).await.map_err(failure::update_source)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    #[rstest]
    #[case("main@sha1:a", "main@sha1:a")]
    #[case("feature/x@sha1:a", "feature/x@sha1:a")]
    #[case("refs/heads/feature/x@sha1:a", "feature/x@sha1:a")]
    #[case("refs/pull/1/head@sha1:a", "1/head@sha1:a")]
    fn revisions_without_folders(#[case] revision: &str, #[case] expected: &str) {
        assert_eq!(super::short(revision), expected);
    }
}
