//! Conflicts of an apply with others: the owner that an object had, and the field managers whose changes it overwrites.

use std::collections::BTreeSet;

use kube::api::DynamicObject;

use crate::Owner;
use crate::diff::changed_fields;
use crate::ignore::names;
use crate::ownership::field_set;

/// Fields named of one object; more of them help nobody.
const MAX_FIELDS: usize = 5;

/// Others whose changes an apply of an object overwrites. An apply wins every conflict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conflict {
    /// The owner that the object had, if it was another one (KS-TEN-6).
    pub owner: Option<Owner>,
    /// Field managers of what the apply overwrites.
    pub managers: BTreeSet<String>,
    /// JSON pointers of some of these fields.
    pub fields: Vec<String>,
}

impl Conflict {
    /// Compares an object with what an apply would make of it.
    pub(crate) fn of(owner: &Owner, own_manager: &str, live: &DynamicObject, tried: &DynamicObject) -> Self {
        let previous = owner.of_labels(&live.metadata).filter(|previous| previous != owner);
        let Ok(value) = serde_json::to_value(live) else {
            return Self { owner: previous, ..Self::default() };
        };
        let mut conflict = Self { owner: previous, ..Self::default() };
        for field in changed_fields(live, tried) {
            let entries = live.metadata.managed_fields.iter().flatten();
            let writers: Vec<String> = entries
                .filter(|entry| entry.manager.as_deref() != Some(own_manager))
                .filter(|entry| field_set(entry).is_some_and(|fields| names(fields, &value, &field)))
                .filter_map(|entry| entry.manager.clone())
                .collect();
            if !writers.is_empty() && conflict.fields.len() < MAX_FIELDS {
                conflict.fields.push(field);
            }
            conflict.managers.extend(writers);
        }
        conflict
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn live() -> DynamicObject {
        let labels = json!({"g.io/name": "other", "g.io/namespace": "n"});
        let hpa =
            json!({"manager": "hpa", "operation": "Update", "fieldsV1": {"f:spec": {"f:replicas": {}}}});
        let idle =
            json!({"manager": "idle", "operation": "Update", "fieldsV1": {"f:spec": {"f:paused": {}}}});
        serde_json::from_value(json!({"apiVersion": "v1", "kind": "K",
            "metadata": {"name": "x", "labels": labels, "managedFields": [hpa, idle]},
            "spec": {"replicas": 5, "paused": true}}))
        .unwrap()
    }

    #[test]
    fn those_whose_changes_are_taken_back_are_named() {
        let owner = Owner { group: "g.io".into(), name: "me".into(), namespace: "n".into() };
        let mut tried = live();
        tried.data["spec"]["replicas"] = json!(2);
        tried.metadata.labels = Some(owner.labels().map(|(key, value)| (key, value.to_owned())).into());
        let conflict = Conflict::of(&owner, "me", &live(), &tried);
        assert_eq!(conflict.owner, Some(Owner { name: "other".into(), ..owner.clone() }));
        assert_eq!(
            (conflict.managers, conflict.fields),
            (["hpa".to_owned()].into(), vec!["/spec/replicas".to_owned()])
        );
        let mine = Conflict::of(&owner, "me", &tried, &tried);
        assert_eq!(mine, Conflict::default());
    }
}
