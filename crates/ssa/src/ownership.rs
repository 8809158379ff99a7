//! The owners of an object's fields: taking over those of `kubectl` and others (KS-SSA-60..62), and finding in an
//! object's metadata a change that concerns us.

use std::hash::{DefaultHasher, Hash, Hasher};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry};
use kube::api::ObjectMeta;
use serde_json::{Value, json};

use crate::error::whole_text;
use crate::live_object::{LiveObject, Manager};
use crate::undeclared;

const APPLY: &str = "Apply";
const UPDATE: &str = "Update";

/// Annotations that other tools, and Flux long ago, left behind (KS-SSA-60).
const OLD_ANNOTATIONS: [&str; 3] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "kustomize.toolkit.fluxcd.io/checksum",
    "fluxcd.io/sync-checksum",
];
/// The label of the same origin.
const OLD_LABEL: &str = "fluxcd.io/sync-gc-mark";

/// The field manager that applies, and those whose fields it takes over.
#[derive(Clone, Debug)]
pub(crate) struct Managers {
    pub(crate) own: String,
    pub(crate) overridden: Vec<String>,
}

/// The writer of the fields of an entry.
#[derive(Clone, Copy)]
struct Writer<'a> {
    manager: &'a str,
    operation: &'a str,
    is_of_subresource: bool,
}

impl<'a> Writer<'a> {
    fn new(manager: Option<&'a str>, operation: Option<&'a str>, subresource: Option<&str>) -> Self {
        let [manager, operation] = [manager, operation].map(Option::unwrap_or_default);
        Self { manager, operation, is_of_subresource: is_of_subresource(subresource) }
    }
}

impl<'a> From<&'a ManagedFieldsEntry> for Writer<'a> {
    fn from(entry: &'a ManagedFieldsEntry) -> Self {
        Self::new(entry.manager.as_deref(), entry.operation.as_deref(), entry.subresource.as_deref())
    }
}

impl<'a> From<&'a Manager> for Writer<'a> {
    fn from(entry: &'a Manager) -> Self {
        Self::new(entry.manager.as_deref(), entry.operation.as_deref(), entry.subresource.as_deref())
    }
}

impl Managers {
    /// Returns true when the fields of an entry are to become ours.
    fn takes_over<'a>(&self, entry: impl Into<Writer<'a>>) -> bool {
        let Writer { manager, operation, is_of_subresource } = entry.into();
        let is_update = operation == UPDATE;
        if is_of_subresource {
            return false;
        }
        manager.starts_with("kubectl")
            || (is_update && manager.starts_with("before-first-apply"))
            || (is_update && manager.starts_with(&self.own))
            || self.overridden.iter().any(|name| manager.starts_with(name.as_str()))
    }

    /// Returns true when some fields of an object are to become ours.
    pub(crate) fn takes_over_any(&self, live: &LiveObject) -> bool {
        live.managers.iter().any(|entry| self.takes_over(entry))
    }

    fn is_own<'a>(&self, entry: impl Into<Writer<'a>>) -> bool {
        let Writer { manager, operation, is_of_subresource } = entry.into();
        manager == self.own && operation == APPLY && !is_of_subresource
    }

    /// The sets of fields of other managers that apply the object itself (KS-SSA-73, KS-SSA-74). Where fields are taken over, those
    /// of managers that lose theirs are not among them.
    pub(crate) fn others_that_apply<'a>(&self, live: &'a ObjectMeta, is_taking_over: bool) -> Vec<&'a Value> {
        let entries = live.managed_fields.iter().flatten();
        let others = entries.filter(|entry| {
            entry.operation.as_deref() == Some(APPLY)
                && entry.manager.as_deref() != Some(self.own.as_str())
                && !is_of_subresource(entry.subresource.as_deref())
                && !(is_taking_over && self.takes_over(*entry))
        });
        others.filter_map(field_set).collect()
    }

    /// The patch that makes other managers' fields ours, if there is anything to do. It fails on an object that has
    /// changed since it was read.
    pub(crate) fn cleanup(&self, live: &ObjectMeta) -> Option<Value> {
        let mut patch: Vec<Value> =
            old_marks(live).map(|path| json!({"op": "remove", "path": path})).collect();
        if let Some(entries) = self.merged(live) {
            patch.push(replace("managedFields", &json!(entries)));
        }
        if patch.is_empty() {
            return None;
        }
        patch.push(version_test(live));
        Some(Value::Array(patch))
    }

    /// The entries with those taken over merged into ours, which stands last; nothing if none is.
    fn merged(&self, live: &ObjectMeta) -> Option<Vec<ManagedFieldsEntry>> {
        let entries = live.managed_fields.as_deref().unwrap_or_default();
        let mut own = entries.iter().find(|entry| self.is_own(*entry)).cloned();
        let (taken, kept): (Vec<_>, Vec<_>) = entries
            .iter()
            .filter(|entry| !self.is_own(*entry))
            .cloned()
            .partition(|entry| self.takes_over(entry));
        if taken.is_empty() {
            return None;
        }
        for entry in taken {
            own = Some(match own {
                Some(own) => union(own, &entry),
                None => ManagedFieldsEntry {
                    manager: Some(self.own.clone()),
                    operation: Some(APPLY.to_owned()),
                    ..entry
                },
            });
        }
        Some(kept.into_iter().chain(own).collect())
    }

    /// Returns a hash of everything about an object that an apply could correct or must heed: our fields, foreign
    /// managers to take over, marks left by other tools, deletion, labels and annotations of `group`. Changes of the
    /// status and of other managers' own fields leave it as it is.
    pub(crate) fn fingerprint<const IS_METADATA: bool>(
        &self,
        group: &str,
        object: &LiveObject<IS_METADATA>,
    ) -> u64 {
        let meta = &object.meta;
        let mut hasher = DefaultHasher::new();
        meta.uid.hash(&mut hasher);
        meta.deletion_timestamp.is_some().hash(&mut hasher);
        old_marks(meta).count().hash(&mut hasher);
        for entry in &object.managers {
            if self.is_own(entry) {
                entry.api_version.hash(&mut hasher);
                entry.fields.hash(&mut hasher);
                // The server sets it anew when somebody applies other values in our name.
                entry.time.as_ref().map(|time| time.0).hash(&mut hasher);
            } else if self.takes_over(entry) {
                entry.manager.hash(&mut hasher);
            }
        }
        for (key, value) in [&meta.labels, &meta.annotations].into_iter().flatten().flatten() {
            if key.starts_with(group) {
                (key, value).hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}

/// Returns the patch that moves the entries of all managers to one version of the API, if some are of another (KS-SSA-22). The
/// server refuses an apply when an entry's version no longer has its fields. The patch fails on an object that has changed since
/// it was read.
pub(crate) fn migration(live: &ObjectMeta, api_version: &str) -> Option<Value> {
    let entries = live.managed_fields.as_deref().unwrap_or_default();
    if entries.iter().all(|entry| entry.api_version.as_deref() == Some(api_version)) {
        return None;
    }
    let mut migrated: Vec<ManagedFieldsEntry> = Vec::new();
    for entry in entries {
        let entry = ManagedFieldsEntry { api_version: Some(api_version.to_owned()), ..entry.clone() };
        // Entries that only the version kept apart become one.
        match migrated.iter_mut().find(|known| is_same_manager(known, &entry)) {
            Some(known) => *known = union(known.clone(), &entry),
            None => migrated.push(entry),
        }
    }
    Some(json!([replace("managedFields", &json!(migrated)), version_test(live)]))
}

/// Returns true for a refusal because of a field manager: its entry in the live object is of a version of the API that does not know one of
/// its fields. The message about an unknown field of the manifest itself begins in another way.
pub(crate) fn is_of_another_version(error: &kube::Error) -> bool {
    let text = whole_text(error);
    text.contains(undeclared::COMPLAINT) && !text.starts_with("failed to create typed patch object")
}

fn is_same_manager(a: &ManagedFieldsEntry, b: &ManagedFieldsEntry) -> bool {
    let subresource = |entry: &ManagedFieldsEntry| entry.subresource.clone().unwrap_or_default();
    (&a.manager, &a.operation) == (&b.manager, &b.operation) && subresource(a) == subresource(b)
}

fn replace(field: &str, value: &Value) -> Value {
    json!({"op": "replace", "path": format!("/metadata/{field}"), "value": value})
}

/// The part of a patch that fails on an object which has changed since it was read.
fn version_test(live: &ObjectMeta) -> Value {
    replace("resourceVersion", &json!(live.resource_version.clone().unwrap_or_default()))
}

fn old_marks(meta: &ObjectMeta) -> impl Iterator<Item = String> {
    let has = |map: &Option<std::collections::BTreeMap<String, String>>, key| {
        map.as_ref().is_some_and(|map| map.contains_key(key))
    };
    let annotations = OLD_ANNOTATIONS.iter().filter(move |key| has(&meta.annotations, **key));
    let labels = [OLD_LABEL].into_iter().filter(move |key| has(&meta.labels, key));
    let escape = |key: &str| key.replace('~', "~0").replace('/', "~1");
    annotations
        .map(move |key| format!("/metadata/annotations/{}", escape(key)))
        .chain(labels.map(move |key| format!("/metadata/labels/{}", escape(key))))
}

/// Returns true for an entry about `/status`, `/scale` or the like instead of the object itself.
pub(crate) fn is_of_subresource(subresource: Option<&str>) -> bool {
    subresource.is_some_and(|subresource| !subresource.is_empty())
}

/// The fields of an entry, as a map of maps.
pub(crate) fn field_set(entry: &ManagedFieldsEntry) -> Option<&Value> {
    entry.fields_v1.as_ref().map(|fields| &fields.0)
}

fn union(mut own: ManagedFieldsEntry, other: &ManagedFieldsEntry) -> ManagedFieldsEntry {
    let fields = |entry: &ManagedFieldsEntry| entry.fields_v1.clone().map_or(json!({}), |fields| fields.0);
    own.fields_v1 = Some(FieldsV1(union_fields(fields(&own), fields(other))));
    own
}

/// Sets of fields are maps of maps; their union is the union of the maps.
fn union_fields(a: Value, b: Value) -> Value {
    match (a, b) {
        (Value::Object(mut a), Value::Object(b)) => {
            for (key, value) in b {
                let merged = match a.shift_remove(&key) {
                    Some(own) => union_fields(own, value),
                    None => value,
                };
                a.insert(key, merged);
            }
            Value::Object(a)
        }
        (a, _) => a,
    }
}

#[cfg(test)]
mod tests;
