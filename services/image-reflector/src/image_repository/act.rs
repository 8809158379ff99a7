//! Lists the tags and stores them.

use std::time::Duration;

use regex::Regex;
use tokio_util::sync::CancellationToken;
use weir_oci::{MAX_TAGS, is_tag};
use weir_policy::go_regex::{self, GoRegexError};
use weir_runtime::ObjectKey;

use super::{Scanner, decide::Scan};
use crate::tag_store::{TagStoreError, revision};

/// Tags shown in the status.
const SHOWN: usize = 10;

/// The result of a scan.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) count: usize,
    pub(super) revision: String,
    /// The first of them, in the store's order.
    pub(super) latest: Vec<String>,
}

/// Errors of a scan.
#[derive(Debug, thiserror::Error)]
pub(super) enum ScanError {
    /// An expression of the exclusion list does not compile.
    #[error("failed to compile regex {pattern}: {source}")]
    Exclusion { pattern: String, source: GoRegexError },
    /// The registry does not give its tags.
    #[error(transparent)]
    Registry(#[from] weir_oci::Error),
    /// They cannot be stored.
    #[error(transparent)]
    Store(#[from] TagStoreError),
    /// Something newer is about to run.
    #[error("scan was superseded")]
    Superseded,
}

impl ScanError {
    /// Returns the time for which the registry wants to be left alone, if it has named one.
    pub(super) fn asked_wait(&self) -> Option<Duration> {
        match self {
            Self::Registry(error) => error.retry_after(),
            _ => None,
        }
    }
}

impl Scanner {
    /// Scans, unless something newer comes while the registry is asked.
    pub(super) async fn act(
        &self,
        key: &ObjectKey,
        scan: &Scan,
        cancel: &CancellationToken,
    ) -> Result<Found, ScanError> {
        let exclusions = compile(&scan.exclusions)?;
        let mut registry = self.registries.open(&scan.repository, scan.options.clone())?;
        let tags = cancel.run_until_cancelled(registry.tags(MAX_TAGS)).await;
        let tags = tags.ok_or(ScanError::Superseded)??;
        let key = key.clone();
        let stored = self.store.blocking(move |store| {
            let tags = kept(tags, &exclusions);
            store.write(&key, &tags)?;
            let latest = tags.iter().take(SHOWN).cloned().collect();
            Ok(Found { count: tags.len(), revision: revision(&tags), latest })
        });
        Ok(stored.await?)
    }
}

fn compile(patterns: &[String]) -> Result<Vec<Regex>, ScanError> {
    let one = |pattern: &String| {
        go_regex::compile(pattern).map_err(|source| ScanError::Exclusion { pattern: pattern.clone(), source })
    };
    patterns.iter().map(one).collect()
}

/// The tags that no expression matches, in descending order of bytes (IR-15).
fn kept(tags: Vec<String>, exclusions: &[Regex]) -> Vec<String> {
    let is_kept = |tag: &String| is_tag(tag) && !exclusions.iter().any(|exclusion| exclusion.is_match(tag));
    let mut kept: Vec<String> = tags.into_iter().filter(is_kept).collect();
    kept.sort_unstable_by(|a, b| b.cmp(a));
    kept.dedup();
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{compile, kept};

    fn kept_by(tags: &[&str], exclusions: &[&str]) -> Vec<String> {
        let exclusions: Vec<String> = exclusions.iter().map(|text| (*text).to_owned()).collect();
        kept(tags.iter().map(|tag| (*tag).to_owned()).collect(), &compile(&exclusions).unwrap())
    }

    #[test]
    fn exclusions_search_and_order_is_of_bytes() {
        assert_eq!(
            kept_by(&["1.0", "sig.x", "x.sig", "73", "101", "1.0"], &[r"^.*\.sig$"]),
            ["sig.x", "73", "101", "1.0"]
        );
        assert_eq!(kept_by(&["1.0", "1.1-arm"], &["-arm$", "^sig"]), ["1.0"]);
    }

    #[test]
    fn what_is_no_tag_is_left_out() {
        assert_eq!(kept_by(&["ok", "a b", "", "../x", &"x".repeat(129)], &[]), ["ok"]);
    }

    #[test]
    fn a_bad_expression_is_named() {
        assert_eq!(
            compile(&["a(".to_owned()]).unwrap_err().to_string(),
            "failed to compile regex a(: error parsing regexp: missing closing ): `a(`"
        );
    }

    proptest! {
        #[test]
        fn the_order_of_the_registry_does_not_matter(
            (tags, shuffled) in prop::collection::vec("[a-z0-9.]{1,6}", 0..20)
                .prop_flat_map(|tags| (Just(tags.clone()), Just(tags).prop_shuffle())),
        ) {
            prop_assert_eq!(kept(tags, &[]), kept(shuffled, &[]));
        }
    }
}
