//! What is to be done, from what is known. Pure.

use crate::source::Failure;
use weir_api::condition_type::ARTIFACT_IN_STORAGE;
use weir_api::source::{GitRepositoryRef, GitRepositorySpec};
use weir_api::{Artifact, GitRepository};
use weir_artifact::{RelPath, Revision};
use weir_git::{Error, Reference};
use weir_runtime::condition;

/// The branch when nothing is asked for, whatever the remote's own default is (SRC-GIT-1).
const DEFAULT_BRANCH: &str = "master";

/// What to ask the remote for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
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
    /// Where it is in the tree; nothing when it leads out of it.
    pub(super) path: Option<RelPath>,
}

/// What a gate that is off does not allow is refused, never half done (CLD-2).
pub(super) fn refuse_gated(spec: &GitRepositorySpec, workload_identity: bool) -> Result<(), Failure> {
    if spec.service_account_name.is_some() && !workload_identity {
        let message = "to use spec.serviceAccountName for provider authentication please enable the \
                       ObjectLevelWorkloadIdentity feature gate in the controller";
        return Err(Failure::fetch(weir_api::reason::FEATURE_GATE_DISABLED, message).stalled());
    }
    Ok(())
}

/// Decides what to ask the remote for; `known` is the artifact that is whole in the store, `included` what goes into it.
pub(super) fn plan(object: &GitRepository, known: Option<&Artifact>, included: &[&Artifact]) -> Plan {
    let spec = &object.spec;
    let known = known
        .filter(|_| may_skip(object) && !includes_differ(object, included))
        .map(|artifact| Revision::normalise(&artifact.revision).to_string());
    let sparse = spec.sparse_checkout.iter().map(|written| {
        let path = written.trim_start_matches("./");
        SparsePath { written: written.clone(), path: RelPath::parse(path).ok() }
    });
    Plan { reference: reference(spec.reference.as_ref()), known, sparse: sparse.collect() }
}

/// What is fetched, by the precedence of Flux's code (SRC-GIT-1).
fn reference(wanted: Option<&GitRepositoryRef>) -> Reference {
    let given = |field: fn(&GitRepositoryRef) -> Option<&String>| {
        wanted.and_then(field).filter(|text| !text.is_empty()).cloned()
    };
    let (branch, name) = (given(|it| it.branch.as_ref()), given(|it| it.name.as_ref()));
    if let Some(id) = given(|it| it.commit.as_ref()) {
        return Reference::Commit { id, branch, name };
    }
    name.map(Reference::Name)
        .or_else(|| given(|it| it.tag.as_ref()).map(Reference::Tag))
        .or_else(|| given(|it| it.semver.as_ref()).map(Reference::Semver))
        .unwrap_or_else(|| Reference::Branch(branch.unwrap_or_else(|| DEFAULT_BRANCH.to_owned())))
}

/// Whether an unchanged revision needs no new artifact: it was made with the same settings (SRC-GIT-9, SRC-GIT-10).
fn may_skip(object: &GitRepository) -> bool {
    let Some(status) = &object.status else { return false };
    let spec = &object.spec;
    condition::is_true(&status.conditions, ARTIFACT_IN_STORAGE)
        && spec.ignore == status.observed_ignore
        && spec.recurse_submodules == status.observed_recurse_submodules
        && spec.include == status.observed_include
        && spec.sparse_checkout == status.observed_sparse_checkout
}

/// Whether other artifacts are to be included than those that were, by revision and content (SRC-GIT-10).
pub(super) fn includes_differ(object: &GitRepository, included: &[&Artifact]) -> bool {
    // What was included may be written as Flux did before 0.40.
    let content =
        |artifact: &Artifact| (Revision::normalise(&artifact.revision).to_string(), artifact.digest.clone());
    let before = object.status.iter().flat_map(|status| &status.included_artifacts);
    !before.map(content).eq(included.iter().map(|artifact| content(artifact)))
}

/// What to tell of a reference in which both a tag and a range are given: the documentation says that the range wins,
/// Flux and we use the tag (DEV 1). Told once for each change of the object.
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

/// A sparse path that is not there (SRC-GIT-15).
pub(super) fn sparse_failure(written: &str) -> Failure {
    let message = format!(
        "failed to sparse checkout directories : sparse checkout dir '{written}' does not exist in repository: \
         lstat {}: no such file or directory",
        written.trim_start_matches(['.', '/'])
    );
    Failure::fetch("GitOperationFailed", message)
}

/// A failed fetch in conditions (SRC-GIT-7).
pub(super) fn fetch_failure(error: &Error, url: &str) -> Failure {
    match error {
        Error::Empty => Failure::fetch("EmptyGitRepository", error.to_string()),
        Error::HttpClient(_) => {
            Failure::fetch("GitOperationFailed", format!("failed to create Git client: {error}"))
        }
        _ => {
            let message = format!("failed to checkout and determine revision: {}", error.clone_message(url));
            if error.is_of_disk() {
                Failure::disk(message)
            } else {
                Failure::fetch("GitOperationFailed", message)
            }
        }
    }
}

#[cfg(test)]
mod tests;
