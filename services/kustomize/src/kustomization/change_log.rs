//! The log line about an apply (KS-SSA-92).

use serde_json::{Map, Value, json};
use weir_ssa::ChangeSet;

/// Returns what was done to each object, or, grouped, the objects to which each was done (`GroupChangeLog`).
pub(super) fn output(changes: &ChangeSet, is_grouped: bool) -> Value {
    let mut output = Map::new();
    for change in &changes.0 {
        let (subject, action) = (change.id.subject(), change.action.to_string());
        if is_grouped {
            let group = output.entry(action).or_insert_with(|| json!([]));
            group.as_array_mut().into_iter().for_each(|group| group.push(subject.clone().into()));
        } else {
            output.insert(subject, action.into());
        }
    }
    Value::Object(output)
}

#[cfg(test)]
mod tests {
    use weir_ssa::{Action, Change, Conflict};

    use super::*;

    #[test]
    fn changes_are_logged_by_object_or_by_action() {
        let change = |id: &str, action| Change {
            id: id.parse().unwrap(),
            version: "v1".into(),
            action,
            conflict: Conflict::default(),
        };
        let changes = ChangeSet(vec![
            change("_n__Namespace", Action::Created),
            change("n_a__Secret", Action::Unchanged),
            change("n_b__Secret", Action::Unchanged),
        ]);
        let single = json!({"Namespace/n": "created", "Secret/n/a": "unchanged", "Secret/n/b": "unchanged"});
        assert_eq!(output(&changes, false), single);
        let grouped = json!({"created": ["Namespace/n"], "unchanged": ["Secret/n/a", "Secret/n/b"]});
        assert_eq!(output(&changes, true), grouped);
    }
}
