//! The settings of one object in its labels and annotations (KS-API-30, KS-SSA-30..33, KS-GC-3).

use kube::api::ObjectMeta;

use crate::Manifest;

/// The owner of objects: the labels that every applied object gets (KS-SSA-2).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    /// API group of the owner; the prefix of its labels and annotations.
    pub group: String,
    /// Name of the owner.
    pub name: String,
    /// Namespace of the owner.
    pub namespace: String,
}

impl Owner {
    /// The labels `<group>/name` and `<group>/namespace`.
    pub fn labels(&self) -> [(String, &str); 2] {
        [(format!("{}/name", self.group), &self.name), (format!("{}/namespace", self.group), &self.namespace)]
    }

    /// Returns true when an object may be deleted once this owner no longer wants it (KS-GC-3).
    pub fn may_prune(&self, live: &ObjectMeta) -> bool {
        may_prune(self, live)
    }

    /// Returns true when an object carries both labels with this owner's values.
    pub(crate) fn owns(&self, meta: &ObjectMeta) -> bool {
        self.of_labels(meta).is_some_and(|found| found == *self)
    }

    /// Returns the owner of the same group that an object's labels name, if they name one.
    pub(crate) fn of_labels(&self, meta: &ObjectMeta) -> Option<Self> {
        let labels = meta.labels.as_ref()?;
        let [name, namespace] = self.labels().map(|(key, _)| labels.get(&key).cloned());
        Some(Self { group: self.group.clone(), name: name?, namespace: namespace? })
    }
}

/// A key with a value that people set on an object, looked for in labels and annotations.
#[derive(Clone, Copy)]
pub(crate) enum Mark {
    ReconcileDisabled,
    SsaIgnore,
    SsaIfNotPresent,
    SsaMerge,
    Force,
    PruneDisabled,
}

impl Mark {
    fn parts(self) -> (&'static str, &'static str) {
        match self {
            Self::ReconcileDisabled => ("reconcile", "disabled"),
            Self::SsaIgnore => ("ssa", "Ignore"),
            Self::SsaIfNotPresent => ("ssa", "IfNotPresent"),
            Self::SsaMerge => ("ssa", "Merge"),
            Self::Force => ("force", "enabled"),
            Self::PruneDisabled => ("prune", "disabled"),
        }
    }

    /// Returns true when the desired object carries the mark.
    pub(crate) fn on_desired(self, group: &str, manifest: &Manifest) -> bool {
        let (key, value) = self.parts();
        manifest.marks(&format!("{group}/{key}")).any(|found| found.eq_ignore_ascii_case(value))
    }

    /// Returns true when the object in the cluster carries the mark.
    pub(crate) fn on_live(self, group: &str, meta: &ObjectMeta) -> bool {
        let (key, value) = self.parts();
        let key = format!("{group}/{key}");
        [&meta.labels, &meta.annotations].into_iter().any(|map| {
            map.as_ref().and_then(|map| map.get(&key)).is_some_and(|found| found.eq_ignore_ascii_case(value))
        })
    }
}

/// Returns true when the desired object says that it is not to be applied at all (KS-SSA-30).
pub(crate) fn skips_desired(group: &str, manifest: &Manifest) -> bool {
    [Mark::ReconcileDisabled, Mark::SsaIgnore].iter().any(|mark| mark.on_desired(group, manifest))
}

/// Returns true when an object that is there is to be left alone (KS-SSA-30, KS-SSA-31).
pub(crate) fn skips_live(group: &str, manifest: &Manifest, live: &ObjectMeta) -> bool {
    Mark::SsaIfNotPresent.on_desired(group, manifest)
        || [Mark::ReconcileDisabled, Mark::SsaIgnore].iter().any(|mark| mark.on_live(group, live))
}

/// Returns true when other managers' fields stay (KS-SSA-32).
pub(crate) fn merges(group: &str, manifest: &Manifest, live: &ObjectMeta) -> bool {
    Mark::SsaMerge.on_desired(group, manifest) || Mark::SsaMerge.on_live(group, live)
}

/// Returns true when an object may be deleted when its owner no longer wants it (KS-GC-3).
pub(crate) fn may_prune(owner: &Owner, live: &ObjectMeta) -> bool {
    let kept = [Mark::PruneDisabled, Mark::ReconcileDisabled, Mark::SsaIgnore];
    owner.owns(live) && !kept.iter().any(|mark| mark.on_live(&owner.group, live))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    /// KS-GC-3, KS-TST-4, KS-TST-5
    #[rstest]
    #[case::unmarked("me", None, true)]
    #[case::of_another("other", None, false)]
    #[case::kept("me", Some(("prune", "Disabled")), false)]
    #[case::paused("me", Some(("reconcile", "disabled")), false)]
    #[case::left_alone("me", Some(("ssa", "Ignore")), false)]
    #[case::made_once("me", Some(("ssa", "IfNotPresent")), true)]
    #[case::merged("me", Some(("ssa", "Merge")), true)]
    #[case::other_value("me", Some(("prune", "enabled")), true)]
    fn objects_of_others_and_those_that_are_left_alone_are_not_pruned(
        #[case] name: &str,
        #[case] mark: Option<(&str, &str)>,
        #[case] expected: bool,
    ) {
        let owner = |name: &str| Owner { group: "g".into(), name: name.into(), namespace: "n".into() };
        for in_label in [true, false] {
            let mut live = ObjectMeta {
                labels: Some(owner(name).labels().map(|(key, value)| (key, value.to_owned())).into()),
                ..ObjectMeta::default()
            };
            let marks = if in_label { &mut live.labels } else { &mut live.annotations };
            let mark = mark.map(|(key, value)| (format!("g/{key}"), value.to_owned()));
            marks.get_or_insert_default().extend(mark);
            assert_eq!(may_prune(&owner("me"), &live), expected, "label: {in_label}");
        }
    }

    /// KS-API-30
    #[rstest]
    #[case("enabled", "disabled", true)]
    #[case("Disabled", "enabled", true)]
    #[case("enabled", "enabled", false)]
    fn marks_of_a_manifest_count_as_label_and_as_annotation(
        #[case] label: &str,
        #[case] annotation: &str,
        #[case] expected: bool,
    ) {
        let metadata = json!({"name": "a", "labels": {"g/reconcile": label}, "annotations": {"g/reconcile": annotation}});
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        assert_eq!(skips_desired("g", &Manifest::try_from(object).unwrap()), expected);
    }
}
