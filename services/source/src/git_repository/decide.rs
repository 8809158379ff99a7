//! The plan of a run, made from the facts observed. Pure.

use weir_access::reference;
use weir_api::condition_type::ARTIFACT_IN_STORAGE;
use weir_api::{Artifact, GitRepository};
use weir_artifact::{RelPath, Revision};
use weir_git::{Error, Reference, without_password};
use weir_runtime::{EventDraft, condition};

use super::observe::Observed;
use super::part;
use crate::source::{Failure, Success};

const GIT_OPERATION_FAILED: &str = "GitOperationFailed";

/// The plan of a run.
pub(super) struct Plan {
    /// The question to the remote.
    pub(super) question: Question,
    /// Message while the run lasts, where there is a better one than that of every run.
    pub(super) progress: Option<&'static str>,
    /// The part of a commit that is asked for; none means all of it.
    pub(super) part: Option<weir_git::Part>,
}

/// The question to the remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) reference: Reference,
    /// The revision that need not be fetched again.
    pub(super) known: Option<String>,
    /// Directories to which the artifact is limited; none means all.
    pub(super) sparse: Vec<SparsePath>,
}

/// A path of `spec.sparseCheckout`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SparsePath {
    /// As the user wrote it.
    pub(super) written: String,
    /// Path in the tree; nothing when it leads out of it.
    pub(super) path: Option<RelPath>,
}

/// Decides what a run does; `known` is the artifact that is whole in the store.
pub(super) fn decide(object: &GitRepository, known: Option<&Artifact>, observed: &Observed) -> Plan {
    let included: Vec<_> = observed.includes.iter().map(|include| &include.artifact).collect();
    let question = question(object, known.filter(|_| observed.is_verified), &included);
    let part = part::part(&object.spec, &question.sparse);
    let progress = includes_differ(object, &included)
        .then_some("building artifact: included artifacts differ from last observed includes");
    Plan { question, progress, part }
}

/// Decides what to ask the remote for; `known` is the artifact that is whole in the store, `included` what goes into it.
fn question(object: &GitRepository, known: Option<&Artifact>, included: &[&Artifact]) -> Question {
    let spec = &object.spec;
    let known = known
        .filter(|_| is_as_before(object, included))
        .map(|artifact| Revision::normalise(&artifact.revision).to_string());
    Question {
        reference: reference(spec.reference.as_ref()),
        known,
        sparse: sparse_paths(&spec.sparse_checkout),
    }
}

/// The directories to which the artifact is limited; none when the root is among them.
pub(super) fn sparse_paths(written: &[String]) -> Vec<SparsePath> {
    let trimmed = |written: &str| written.trim_start_matches("./").to_owned();
    if written.iter().any(|written| ["", "."].contains(&trimmed(written).as_str())) {
        return Vec::new();
    }
    let path = |written: &String| SparsePath {
        written: written.clone(),
        path: RelPath::parse(&trimmed(written)).ok(),
    };
    written.iter().map(path).collect()
}

/// Returns true when an unchanged revision needs no new artifact: it was made with the same settings (SRC-GIT-9,
/// SRC-GIT-10).
pub(super) fn is_as_before(object: &GitRepository, included: &[&Artifact]) -> bool {
    let Some(status) = &object.status else { return false };
    let spec = &object.spec;
    !includes_differ(object, included)
        && condition::is_true(&status.conditions, ARTIFACT_IN_STORAGE)
        && spec.ignore == status.observed_ignore
        && spec.recurse_submodules == status.observed_recurse_submodules
        && spec.include == status.observed_include
        && spec.sparse_checkout == status.observed_sparse_checkout
}

/// Returns true when other artifacts are to be included than those that were, by revision and content (SRC-GIT-10).
fn includes_differ(object: &GitRepository, included: &[&Artifact]) -> bool {
    // The included content may be recorded as Flux did before 0.40.
    let content =
        |artifact: &Artifact| (Revision::normalise(&artifact.revision).to_string(), artifact.digest.clone());
    let before = object.status.iter().flat_map(|status| &status.included_artifacts);
    !before.map(content).eq(included.iter().map(|artifact| content(artifact)))
}

/// Returns the message about a reference in which both a tag and a range are given: the documentation says that the
/// range wins, Flux and we use the tag (DEV 1). Sent once for each change of the object.
pub(super) fn ambiguity(object: &GitRepository) -> Option<String> {
    let reference = object.spec.reference.as_ref()?;
    let observed = object.status.as_ref().map(|status| status.observed_generation);
    if observed == object.metadata.generation {
        return None;
    }
    let (tag, range) = (reference.tag.as_deref()?, reference.semver.as_deref()?);
    let is_used = reference.commit.is_none() && reference.name.is_none();
    let both = is_used && !tag.is_empty() && !range.is_empty();
    both.then(|| {
        format!(
            "spec.ref has both a tag and a semver range: the tag '{tag}' is used, the range '{range}' is not"
        )
    })
}

/// The result when the remote has nothing new (SRC-GIT-11).
pub(super) fn unchanged(artifact: Artifact, revision: &str, reference: &Reference) -> Success {
    let message = format!("stored artifact for commit '{revision}'");
    match reference {
        // Flux makes a whole clone of these at every interval, with the messages that it has after clones.
        Reference::Commit { .. } | Reference::Semver(_) => Success::up_to_date(artifact, message),
        Reference::Branch(_) | Reference::Tag(_) | Reference::Name(_) | Reference::Short(_) => {
            let told = format!("no changes since last reconciliation: observed revision '{revision}'");
            Success {
                unchanged: Some(EventDraft::trace("GitOperationSucceeded", told)),
                ..Success::new(artifact, message)
            }
        }
    }
}

/// A sparse path that is not there (SRC-GIT-15).
pub(super) fn sparse_failure(written: &str) -> Failure {
    let message = format!(
        "failed to sparse checkout directories : sparse checkout dir '{written}' does not exist in repository: \
         lstat {}: no such file or directory",
        written.trim_start_matches(['.', '/'])
    );
    Failure::fetch(GIT_OPERATION_FAILED, message)
}

/// A failed fetch in conditions (SRC-GIT-7). Its words are those of a look at the references, if Flux begins with one: when
/// there is an artifact that may still be right, and for names.
pub(super) fn fetch_failure(error: &Error, url: &str, reference: &Reference, has_known: bool) -> Failure {
    let begins_with_look = match reference {
        Reference::Name(_) | Reference::Short(_) => true,
        Reference::Branch(_) | Reference::Tag(_) => has_known,
        Reference::Semver(_) | Reference::Commit { .. } => false,
    };
    let words = match error {
        Error::HttpClient(_) => {
            let message = format!("failed to create Git client: {error}");
            return Failure::fetch(GIT_OPERATION_FAILED, message);
        }
        _ if begins_with_look => error.list_message(url),
        Error::Empty if matches!(reference, Reference::Branch(_)) => {
            return Failure::fetch("EmptyGitRepository", error.to_string());
        }
        Error::Empty => {
            let url = without_password(url);
            format!("unable to clone: remote repository is empty: git repository: '{url}'")
        }
        _ => error.clone_message(url),
    };
    checkout_failure(error, &words)
}

/// A commit or one of its submodules that cannot be read.
pub(super) fn read_failure(error: &Error, url: &str) -> Failure {
    checkout_failure(error, &error.clone_message(url))
}

fn checkout_failure(error: &Error, words: &str) -> Failure {
    let message = format!("failed to checkout and determine revision: {words}");
    if error.is_of_disk() {
        return Failure::disk(message);
    }
    Failure::fetch(GIT_OPERATION_FAILED, message).after(error.retry_after())
}

#[cfg(test)]
mod tests;
