//! Making the artifact of a fetched commit.

use super::GitReconciler;
use super::decide::{self, SparsePath};
use super::tree::CommitTree;
use crate::source::{Attempt, Failure, Published, Success, pack, sparse};
use crate::storage::NewArtifact;
use std::io;
use weir_api::GitRepository;
use weir_artifact::{RelPath, Revision};
use weir_git::{Checkout, Error};
use weir_runtime::EventDraft;

impl GitReconciler {
    /// Packs the commit's tree, stores it, and notes with which settings (SRC-GIT-31, SRC-GIT-32).
    pub(super) async fn act(
        &self,
        attempt: &mut Attempt<'_, GitRepository>,
        checkout: Checkout,
        paths: Vec<SparsePath>,
    ) -> Result<Success, Failure> {
        let revision = Revision::normalise(checkout.revision());
        if attempt.known.as_ref().is_none_or(|known| known.revision != revision.as_str()) {
            attempt.progress(format!("building artifact: new upstream revision '{revision}'"));
        }
        let paths = self.find(&checkout, paths, &attempt.object.spec.url).await?;
        let summary = checkout.commit().short_summary();
        let ignore = attempt.object.spec.ignore.clone();
        let at = attempt.object.location().map_err(|error| Failure::storage(&error))?;
        let new = NewArtifact { at, file: format!("{}.tar.gz", revision.hash()), link: None };
        let fill = move |out: &mut dyn io::Write| {
            let packed = CommitTree::open(&checkout)
                .map_err(io::Error::other)
                .and_then(|tree| pack(&sparse(tree, paths), ignore.as_deref(), out));
            packed.inspect_err(|error| distrust(&checkout, error))
        };
        let stored = self.storage.put(new, revision.to_string(), attempt.run.now, fill).await;
        let artifact = stored.map_err(|error| Failure::storage(&error))?;
        let spec = &attempt.object.spec;
        let status = attempt.object.status.get_or_insert_default();
        status.observed_ignore = spec.ignore.clone();
        status.observed_recurse_submodules = spec.recurse_submodules;
        status.observed_include = spec.include.clone();
        status.observed_sparse_checkout = spec.sparse_checkout.clone();
        status.included_artifacts.clear();
        let up_to_date = format!("artifact up-to-date with remote revision: '{revision}'");
        let is_same = attempt.known.as_ref().is_some_and(|known| known.digest == artifact.digest);
        Ok(Success {
            unchanged: is_same.then(|| EventDraft::trace("ArtifactUpToDate", up_to_date)),
            ..Success::new(artifact, format!("stored artifact for commit '{summary}'"))
        })
    }

    /// The sparse paths, all of which must exist (SRC-GIT-15).
    async fn find(
        &self,
        checkout: &Checkout,
        paths: Vec<SparsePath>,
        url: &str,
    ) -> Result<Vec<RelPath>, Failure> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let checkout = checkout.clone();
        let look = move || -> Result<Result<Vec<RelPath>, String>, Error> {
            let tree = CommitTree::open(&checkout)?;
            let mut found = Vec::with_capacity(paths.len());
            for SparsePath { written, path } in paths {
                match path {
                    Some(path) if tree.has(&path)? => found.push(path),
                    _ => return Ok(Err(written)),
                }
            }
            Ok(Ok(found))
        };
        let looked = self.storage.blocking(look).await;
        let looked = looked.map_err(|error| Failure::fetch("GitOperationFailed", error.to_string()))?;
        looked.map_err(|error| decide::fetch_failure(&error, url))?.map_err(|missing| {
            let message = format!(
                "failed to sparse checkout directories : sparse checkout dir '{missing}' does not exist in repository: \
                 lstat {}: no such file or directory",
                missing.trim_start_matches(['.', '/'])
            );
            Failure::fetch("GitOperationFailed", message)
        })
    }
}

/// An object that cannot be read is fetched anew at the next try; a full disk is no reason for it.
fn distrust(checkout: &Checkout, error: &io::Error) {
    if error.get_ref().is_some_and(|inner| matches!(inner.downcast_ref(), Some(Error::Library { .. }))) {
        checkout.distrust();
    }
}
