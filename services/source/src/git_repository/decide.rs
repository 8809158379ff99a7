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

/// What this version does not do is refused, never half done.
pub(super) fn refuse_unsupported(spec: &GitRepositorySpec, workload_identity: bool) -> Result<(), Failure> {
    if spec.service_account_name.is_some() && !workload_identity {
        let message = "to use spec.serviceAccountName for provider authentication please enable the \
                       ObjectLevelWorkloadIdentity feature gate in the controller";
        return Err(Failure::fetch(weir_api::reason::FEATURE_GATE_DISABLED, message).stalled());
    }
    if !spec.include.is_empty() {
        return Err(Failure::unsupported("spec.include"));
    }
    if spec.recurse_submodules {
        return Err(Failure::unsupported("spec.recurseSubmodules"));
    }
    match spec.provider.as_deref() {
        None | Some("generic" | "github") => Ok(()),
        Some(other) => Err(Failure::unsupported(&format!("provider '{other}' of a GitRepository"))),
    }
}

/// Decides what to ask the remote for; `known` is the artifact that is whole in the store.
pub(super) fn plan(object: &GitRepository, known: Option<&Artifact>) -> Plan {
    let spec = &object.spec;
    let known = known
        .filter(|_| may_skip(object))
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

/// A failed fetch in conditions (SRC-GIT-7).
pub(super) fn fetch_failure(error: &Error, url: &str) -> Failure {
    match error {
        Error::Empty => Failure::fetch("EmptyGitRepository", error.to_string()),
        Error::HttpClient(_) => {
            Failure::fetch("GitOperationFailed", format!("failed to create Git client: {error}"))
        }
        _ => {
            let message = error.clone_message(url);
            Failure::fetch(
                "GitOperationFailed",
                format!("failed to checkout and determine revision: {message}"),
            )
        }
    }
}

#[cfg(test)]
mod tests;
