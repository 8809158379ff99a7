//! Artifacts of other repositories inside this one's (SRC-GIT-17…21).

use std::collections::HashSet;
use std::io;
use std::time::Duration;

use weir_api::SourceObject;
use weir_api::condition_type::{INCLUDE_UNAVAILABLE, STORAGE_OPERATION_FAILED};
use weir_api::{Artifact, GitRepository};
use weir_artifact::{Limits, Location, RelPath, Store, Untar, VerifyError};
use weir_runtime::{Cache, Cause, Change, Index, ObjectKey, Queue};

use super::GitReconciler;
use super::whole::WholeTree;
use crate::source::{Attempt, Failure, Published};

/// An include whose artifact is there.
#[derive(Debug, Clone)]
pub(super) struct Include {
    name: String,
    /// Paths as the user wrote them, or the defaults.
    from: String,
    to: String,
    pub(super) artifact: Artifact,
    at: Location,
    /// Time after which it is looked for again when its file is not there.
    wait: Duration,
}

impl GitReconciler {
    /// The artifacts to include, all of them or none: an object waits until they are there (SRC-GIT-17). They are always
    /// of its own namespace.
    pub(super) fn includes(&self, attempt: &Attempt<'_, GitRepository>) -> Result<Vec<Include>, Failure> {
        let wait = self.requeue_dependency;
        let mut includes = Vec::with_capacity(attempt.object.spec.include.len());
        for include in &attempt.object.spec.include {
            let name = &include.repository.name;
            let key = ObjectKey::new(attempt.key().namespace.clone(), name.clone());
            let Some(object) = self.objects.get(&key) else {
                let message = format!(
                    "could not get resource for include '{name}': GitRepository.source.toolkit.fluxcd.io \"{name}\" not found"
                );
                return Err(Failure::new(INCLUDE_UNAVAILABLE, "NotFound", message).waiting(wait));
            };
            let (Some(artifact), Ok(at)) = (object.artifact().cloned(), object.location()) else {
                return Err(without_artifact(name, wait));
            };
            let to = include.to_path.clone().filter(|path| !path.is_empty());
            includes.push(Include {
                name: name.clone(),
                from: include.from_path.clone().unwrap_or_default(),
                to: to.unwrap_or_else(|| name.clone()),
                artifact,
                at,
                wait,
            });
        }
        Ok(includes)
    }
}

impl Include {
    /// Puts the included files into `whole` (SRC-GIT-19). Blocks.
    pub(super) fn put_into(
        self,
        whole: &mut WholeTree,
        store: &Store,
        limits: Limits,
    ) -> Result<(), Failure> {
        let Self { name, from, to, artifact, at, wait } = self;
        let illegal = |error| {
            let message = format!("path calculation for include '{name}' failed: {error}");
            Failure::new(STORAGE_OPERATION_FAILED, "IllegalPath", message)
        };
        let failed = |error: io::Error| {
            let message = format!("failed to copy '{name}' include from {from} to {to}: {error}");
            Failure::new(STORAGE_OPERATION_FAILED, "CopyFailure", message)
        };
        let source = RelPath::confined(&from).map_err(illegal)?;
        let target = RelPath::confined(&to).map_err(illegal)?;
        let target = target.ok_or_else(|| failed(io::Error::other("file exists")))?;
        // Its status may be forged: what is unpacked is a whole file of that object, or nothing.
        let file = store.open_verified(&at, &artifact.path, &artifact.digest);
        let file = file.map_err(|error| match error {
            // As after a restart without the disk: the included repository's own run makes it again.
            VerifyError::Missing | VerifyError::NoDigest => without_artifact(&name, wait),
            error => failed(io::Error::other(error)),
        })?;
        let unpacked = Untar::new(limits).to_tree(file).map_err(|error| failed(io::Error::other(error)))?;
        whole.graft(target, Box::new(unpacked), source).map_err(failed)
    }
}

/// Returns the failure of a repository whose include has no artifact yet (SRC-GIT-17).
fn without_artifact(name: &str, wait: Duration) -> Failure {
    let message = format!("no artifact available for include '{name}'");
    Failure::new(INCLUDE_UNAVAILABLE, "NoArtifact", message).waiting(wait)
}

/// Lets a new artifact wake the repositories that include it (DEV 10).
pub(super) fn wake_by_included(objects: &Cache<GitRepository>, queue: &Queue) {
    let by_included = objects.index(included);
    let (all, to) = (objects.clone(), queue.clone());
    objects.on_change(move |change| wake_includers(change, &by_included, &all, &to));
}

/// Returns the repositories that one includes, which are of its own namespace.
fn included(object: &GitRepository) -> Vec<ObjectKey> {
    let own = object.metadata.namespace.as_deref().unwrap_or_default();
    object.spec.include.iter().map(|include| ObjectKey::new(own, include.repository.name.as_str())).collect()
}

fn wake_includers(
    change: &Change<GitRepository>,
    by_included: &Index<GitRepository, ObjectKey>,
    objects: &Cache<GitRepository>,
    queue: &Queue,
) {
    let content = |object: Option<&std::sync::Arc<GitRepository>>| {
        let artifact = object.and_then(|object| object.artifact());
        artifact.map(|artifact| (artifact.revision.clone(), artifact.digest.clone()))
    };
    let Some(new) = &change.new else { return };
    if content(change.old.as_ref()) == content(change.new.as_ref()) {
        return;
    }
    let key = ObjectKey::of(&**new);
    let parts = |whole: &ObjectKey| objects.get(whole).iter().flat_map(|whole| included(whole)).collect();
    let mut includers = by_included.naming(&key);
    includers.retain(|includer| !is_in(parts, &key, &ObjectKey::of(&**includer)));
    queue.wake(includers, Cause::Dependency);
}

/// Returns true when `whole` is, or includes by whichever way, `part`; `parts` are what a repository includes itself.
/// Repositories that include each other would wake each other without end: they look at each other at their intervals.
fn is_in(parts: impl Fn(&ObjectKey) -> Vec<ObjectKey>, whole: &ObjectKey, part: &ObjectKey) -> bool {
    let (mut seen, mut pending) = (HashSet::new(), vec![whole.clone()]);
    while let Some(key) = pending.pop() {
        if key == *part {
            return true;
        }
        if !seen.contains(&key) {
            pending.extend(parts(&key));
            seen.insert(key);
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::itself("self", "self", true)]
    #[case::each_other("a", "b", true)]
    #[case::round_three("x", "z", true)]
    #[case::its_part("a", "lib", true)]
    #[case::beside_a_circle("a", "x", false)]
    #[case::what_includes_it("lib", "a", false)]
    #[case::not_there("gone", "a", false)]
    fn circles(#[case] whole: &str, #[case] part: &str, #[case] expected: bool) {
        let key = |name: &&str| ObjectKey::new("ns", *name);
        let parts = |whole: &ObjectKey| {
            let names: &[&str] = match whole.name.as_str() {
                "self" => &["self"],
                "a" => &["lib", "b"],
                "b" => &["a", "gone"],
                "x" => &["y"],
                "y" => &["z", "y"],
                "z" => &["x"],
                _ => &[],
            };
            names.iter().map(key).collect()
        };
        assert_eq!(is_in(parts, &key(&whole), &key(&part)), expected);
    }
}
