//! The charts that a change of a source concerns (SRC-CHT-1). Only those of its own namespace: a source of the same
//! name elsewhere is another one (source.md 20, line 7).

use weir_api::condition_type::FETCH_FAILED;
use weir_api::{FluxObject, HelmChart};
use weir_runtime::{Cache, Cause, ObjectKey, Queue, condition};

use super::observe::NO_SOURCE_ARTIFACT;
use crate::catalog::{Catalog, Entry};

/// Lets new artifacts of sources wake the charts that are made of them.
pub(super) fn wake_by_sources(catalog: &Catalog, charts: &Cache<HelmChart>, queue: &Queue) {
    let by_source = charts.index(|chart| [source_of(chart)]);
    for kind in
        catalog.kinds().filter(|kind| kind.group() == HelmChart::GROUP && kind.name() != HelmChart::KIND)
    {
        let (by_source, queue) = (by_source.clone(), queue.clone());
        kind.follow(Box::new(move |before, source| {
            let mut charts = by_source.naming(&(source.kind.to_owned(), source.key.clone()));
            charts.retain(|chart| concerns(before.as_ref(), &source, chart));
            queue.wake(charts, Cause::Revision);
        }));
    }
}

/// Returns kind and name of the source of a chart.
fn source_of(chart: &HelmChart) -> (String, ObjectKey) {
    let (reference, own) = (&chart.spec.source_ref, chart.metadata.namespace.as_deref());
    (reference.kind.clone(), ObjectKey::new(own.unwrap_or_default(), reference.name.as_str()))
}

/// Returns true when the source of a chart has something new, or has again what it had. The chart's status does not tell what is new:
/// a source may go back to the revision in it while a run builds the one between.
fn concerns(before: Option<&Entry>, source: &Entry, chart: &HelmChart) -> bool {
    let Some(artifact) = source.artifact.as_ref().filter(|_| !source.deleted) else { return false };
    let known = match before {
        Some(before) => before.artifact.as_ref().map(|artifact| artifact.revision.as_str()),
        // One that was there before this service, for all that is known.
        None => chart.status.as_ref().and_then(|status| status.observed_source_artifact_revision.as_deref()),
    };
    known != Some(artifact.revision.as_str()) || waits(chart)
}

/// Returns true when a chart found its source without artifact.
fn waits(chart: &HelmChart) -> bool {
    let failed = condition::find(chart.conditions(), FETCH_FAILED);
    failed.is_some_and(|failed| failed.status == "True" && failed.reason == NO_SOURCE_ARTIFACT)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;
    use weir_api::Artifact;

    use super::*;

    fn source(kind: &'static str, namespace: &str, name: &str, revision: &str) -> Entry {
        let artifact = Artifact { revision: revision.to_owned(), ..Artifact::default() };
        Entry {
            kind,
            key: ObjectKey::new(namespace, name),
            version: 1,
            artifact: (!revision.is_empty()).then_some(artifact),
            ready: true,
            deleted: false,
            handled: None,
        }
    }

    /// A chart that was made of the revision `main@sha1:a`, and fails for a reason since.
    fn chart(failed: &str) -> HelmChart {
        let chart = serde_json::from_value(json!({
            "metadata": {"namespace": "ns", "name": "chart"},
            "spec": {"chart": "app", "interval": "1m", "sourceRef": {"kind": "GitRepository", "name": "a"}},
            "status": {"observedSourceArtifactRevision": "main@sha1:a", "conditions": [{
                "type": "FetchFailed", "status": "True", "reason": failed, "message": "m",
                "lastTransitionTime": "2026-01-02T03:04:05Z",
            }]},
        }));
        chart.unwrap()
    }

    /// Deviation 7.
    #[rstest]
    #[case("GitRepository", "ns", "a", "main@sha1:b", "Other", true)]
    #[case("GitRepository", "ns", "a", "main@sha1:a", "Other", false)]
    #[case("GitRepository", "other", "a", "main@sha1:b", "Other", false)]
    #[case("GitRepository", "ns", "b", "main@sha1:b", "Other", false)]
    #[case("Bucket", "ns", "a", "main@sha1:b", "Other", false)]
    #[case("GitRepository", "ns", "a", "main@sha1:a", "NoSourceArtifact", true)]
    #[case("GitRepository", "ns", "b", "main@sha1:a", "NoSourceArtifact", false)]
    fn concerned(
        #[case] kind: &'static str,
        #[case] namespace: &str,
        #[case] name: &str,
        #[case] revision: &str,
        #[case] failed: &str,
        #[case] expected: bool,
    ) {
        let (chart, source) = (chart(failed), source(kind, namespace, name, revision));
        let is_source = source_of(&chart) == (kind.to_owned(), source.key.clone());
        assert_eq!(is_source && concerns(None, &source, &chart), expected);
    }

    /// SRC-CHT-1: a source may go back to the revision of the chart's status while a run builds the one between.
    #[rstest]
    #[case::new("main@sha1:a", "main@sha1:b", true)]
    #[case::back("main@sha1:b", "main@sha1:a", true)]
    #[case::told_again("main@sha1:b", "main@sha1:b", false)]
    #[case::there_again("", "main@sha1:a", true)]
    #[case::gone("main@sha1:a", "", false)]
    fn each_new_revision_concerns(#[case] before: &str, #[case] after: &str, #[case] expected: bool) {
        let of = |revision| source("GitRepository", "ns", "a", revision);
        assert_eq!(concerns(Some(&of(before)), &of(after), &chart("Other")), expected);
    }
}
