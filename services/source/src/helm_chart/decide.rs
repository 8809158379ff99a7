//! The chart to build, decided from the facts observed. Pure.

use weir_api::{Artifact, HelmChart, condition_type};
use weir_artifact::{RelPath, Revision};
use weir_helm::chart::VALUES_FILE;
use weir_helm::version::{self, VersionMetadataError};
use weir_runtime::condition;

/// Characters of a revision that go into a version. Labels, into which charts like to write it, have 63.
const REVISION_CHARACTERS: usize = 12;

/// The chart that an object wants.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Order {
    /// Name or path of the chart.
    pub(super) chart: String,
    /// Version or range; empty for the newest.
    pub(super) version: String,
    /// Values files to merge; none when only the chart's own values are wanted.
    pub(super) values_files: Vec<String>,
    pub(super) ignores_missing: bool,
    /// Build metadata of the version; empty for none.
    pub(super) metadata: String,
    /// Chart in the store, if it was built from the same settings.
    pub(super) stored: Option<Stored>,
}

/// A chart in the store.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Stored {
    pub(super) name: String,
    /// Its package; the revision is the chart's version.
    pub(super) artifact: Artifact,
    /// The values files that were merged into it.
    pub(super) values_files: Vec<String>,
}

/// Reads the order off an object. `revision` is that of the source's files, when the chart is one of them.
pub(super) fn order(object: &HelmChart, known: Option<&Artifact>, revision: Option<&str>) -> Order {
    let spec = &object.spec;
    let values_files = values_files(spec.all_values_files());
    let by_revision = spec.reconcile_strategy.as_deref() == Some("Revision");
    let mut metadata = revision.filter(|_| by_revision).map(short_revision).unwrap_or_default();
    let generation = object.metadata.generation.unwrap_or_default();
    // So that consumers notice other values of the same chart.
    if !values_files.is_empty() {
        let dot = if metadata.is_empty() { "" } else { "." };
        metadata = format!("{metadata}{dot}{generation}");
    }
    Order {
        chart: spec.chart.clone(),
        version: spec.version.clone().unwrap_or_default(),
        stored: stored(object, known, &values_files),
        values_files,
        ignores_missing: spec.ignore_missing_values_files,
        metadata,
    }
}

/// The values files; `values.yaml` alone is what the chart has anyway.
fn values_files<'a>(files: impl Iterator<Item = &'a str>) -> Vec<String> {
    let files: Vec<String> = files.map(str::to_owned).collect();
    match files.as_slice() {
        [only] if is_default(only) => Vec::new(),
        _ => files,
    }
}

/// Returns true when a path is that of a chart's own values. One that leads out of the chart is that of another file.
pub(super) fn is_default(path: &str) -> bool {
    !leads_out(path) && matches!(RelPath::confined(path), Ok(Some(path)) if path.as_str() == VALUES_FILE)
}

/// Returns true for a path from the root of the disk, or above the folder in which it is looked up.
pub(super) fn leads_out(path: &str) -> bool {
    let mut depth = 0_isize;
    path.starts_with('/')
        || path.split('/').any(|part| {
            depth += match part {
                "" | "." => 0,
                ".." => -1,
                _ => 1,
            };
            depth < 0
        })
}

/// Returns the stored chart if it was built for this generation. Its values files are noted only if some may be missing.
fn stored(object: &HelmChart, known: Option<&Artifact>, values_files: &[String]) -> Option<Stored> {
    let generation = object.metadata.generation.unwrap_or_default();
    let status = object.status.as_ref().filter(|status| status.observed_generation == generation)?;
    // A generation that was refused was not built.
    if condition::is_true(&status.conditions, condition_type::STALLED) {
        return None;
    }
    let noted = status.observed_values_files.as_slice();
    Some(Stored {
        name: status.observed_chart_name.clone()?,
        artifact: known?.clone(),
        values_files: if noted.is_empty() { values_files } else { noted }.to_vec(),
    })
}

/// The start of a revision's hash: as much as there is (source.md 20, line 16).
fn short_revision(revision: &str) -> String {
    Revision::normalise(revision).hash().chars().take(REVISION_CHARACTERS).collect()
}

impl Order {
    /// The version that the chart gets.
    pub(super) fn version_of(&self, version: &str) -> Result<String, VersionMetadataError> {
        if self.metadata.is_empty() {
            Ok(version.to_owned())
        } else {
            version::with_metadata(version, &self.metadata)
        }
    }

    /// Returns true when a package as it is found is what is asked for.
    pub(super) fn is_plain(&self) -> bool {
        self.values_files.is_empty() && self.metadata.is_empty()
    }

    /// Returns the stored chart if it is the wanted one (SRC-CHT-7).
    pub(super) fn reusable(&self, name: &str, version: &str) -> Option<&Stored> {
        self.stored.as_ref().filter(|stored| stored.name == name && stored.artifact.revision == version)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn object(spec: Value) -> HelmChart {
        let mut whole =
            json!({"chart": "app", "interval": "1m", "sourceRef": {"kind": "GitRepository", "name": "a"}});
        whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        let status = json!({"observedGeneration": 2, "observedChartName": "app"});
        serde_json::from_value(json!({"metadata": {"generation": 2}, "spec": whole, "status": status}))
            .unwrap()
    }

    #[rstest]
    #[case(json!({}), "")]
    #[case(json!({"reconcileStrategy": "Revision"}), "4e5cbb7b97d0")]
    #[case(json!({"valuesFiles": ["values.yaml"]}), "")]
    #[case(json!({"valuesFiles": ["./values.yaml"]}), "")]
    #[case(json!({"valuesFiles": ["a.yaml"]}), "2")]
    #[case(json!({"valuesFiles": ["app/../values.yaml"]}), "")]
    #[case::of_the_source(json!({"valuesFiles": ["/values.yaml"]}), "2")]
    #[case::above_the_chart(json!({"valuesFiles": ["../values.yaml"]}), "2")]
    #[case(json!({"valuesFile": "a.yaml"}), "2")]
    #[case(json!({"valuesFile": "a.yaml", "reconcileStrategy": "Revision"}), "4e5cbb7b97d0.2")]
    fn metadata(#[case] spec: Value, #[case] expected: &str) {
        let revision = "main@sha1:4e5cbb7b97d0aaaaaaaaaaaaaaaaaaaaaaaaaaaa";
        assert_eq!(order(&object(spec), None, Some(revision)).metadata, expected);
    }

    /// Deviation 16.
    #[rstest]
    #[case("sha1:abc", "abc")]
    #[case("sha256:0123456789abcdef", "0123456789ab")]
    #[case("short", "short")]
    fn revisions_of_any_length(#[case] revision: &str, #[case] expected: &str) {
        assert_eq!(short_revision(revision), expected);
    }

    #[rstest]
    #[case::all_were_found(json!([]), &["a.yaml", "b.yaml"])]
    #[case::one_was_missing(json!(["b.yaml"]), &["b.yaml"])]
    fn values_files_of_what_is_stored(#[case] noted: Value, #[case] expected: &[&str]) {
        let mut object = object(json!({"valuesFiles": ["a.yaml", "b.yaml"]}));
        object.status.as_mut().unwrap().observed_values_files = serde_json::from_value(noted).unwrap();
        let known = Artifact { revision: "1.0.0".into(), ..Artifact::default() };
        let order = order(&object, Some(&known), None);
        assert_eq!(order.reusable("app", "1.0.0").unwrap().values_files, expected);
    }

    #[test]
    fn what_is_stored_counts_for_the_same_settings_only() {
        let known = Artifact { revision: "1.0.0".into(), ..Artifact::default() };
        let mut object = object(json!({}));
        let order_ = order(&object, Some(&known), None);
        assert_eq!(order_.reusable("app", "1.0.0").map(|stored| &stored.artifact), Some(&known));
        assert_eq!(order_.reusable("app", "1.0.1"), None);
        assert_eq!(order_.reusable("other", "1.0.0"), None);
        assert_eq!(order(&object, None, None).reusable("app", "1.0.0"), None);
        let stalled = json!([{"type": "Stalled", "status": "True", "reason": "InvalidObject", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
        object.status.as_mut().unwrap().conditions = serde_json::from_value(stalled).unwrap();
        assert_eq!(order(&object, Some(&known), None).reusable("app", "1.0.0"), None);
        object.status.as_mut().unwrap().conditions.clear();
        assert!(order(&object, Some(&known), None).reusable("app", "1.0.0").is_some());
        object.metadata.generation = Some(3);
        assert_eq!(order(&object, Some(&known), None).reusable("app", "1.0.0"), None);
    }
}
