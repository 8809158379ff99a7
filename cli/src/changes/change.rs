//! One object and what an apply would do to it.

use serde_json::{Value, json};
use weir_ssa::{Action, Comparison, Entry, ObjectId};

use super::compare::{self, Difference};
use super::report;
use crate::output::{Colour, Paint, plain};

/// An object and what an apply would do to it.
#[derive(Debug)]
pub(crate) struct Change {
    /// The object.
    pub(crate) id: ObjectId,
    /// Change that the apply would make.
    pub(crate) action: Action,
    /// Nothing unless the object is there and would be changed.
    differences: Option<Vec<Difference>>,
}

impl From<Comparison> for Change {
    fn from(Comparison { id, action, objects }: Comparison) -> Self {
        let differences = objects.map(|(live, tried)| compare::values(&live, &tried));
        Self { id, action, differences }
    }
}

impl Change {
    /// A change of an object as a whole.
    pub(crate) fn new(id: ObjectId, action: Action) -> Self {
        Self { id, action, differences: None }
    }

    /// Returns true when the object would not stay as it is.
    pub(crate) fn is_one(&self) -> bool {
        matches!(self.action, Action::Created | Action::Configured | Action::Deleted)
    }

    /// The object as an inventory has it.
    pub(crate) fn entry(&self) -> Entry {
        Entry { id: self.id.clone(), version: String::new() }
    }

    /// Returns the change as people read it; nothing for an object that stays as it is.
    pub(crate) fn text(&self, paint: Paint) -> String {
        let subject = plain(&self.id.subject());
        match self.action {
            Action::Skipped => format!("► {subject} skipped\n"),
            Action::Created => paint.paint(Colour::Green, &format!("► {subject} created\n")),
            Action::Deleted => paint.paint(Colour::Red, &format!("► {subject} deleted\n")),
            Action::Configured => {
                let title = paint.paint(Colour::Yellow, &format!("► {subject} drifted\n"));
                let report = self.differences.as_deref().map(|found| report::of(found, paint));
                title + &report.unwrap_or_default()
            }
            Action::Unchanged | Action::Unknown => String::new(),
        }
    }

    /// Returns the change as programs read it.
    pub(crate) fn value(&self) -> Value {
        let ObjectId { namespace, name, group, kind } = &self.id;
        let action = match self.action {
            Action::Created => "create",
            Action::Configured => "change",
            Action::Deleted => "prune",
            Action::Skipped => "skip",
            Action::Unchanged | Action::Unknown => "none",
        };
        let mut value =
            json!({ "action": action, "group": group, "kind": kind, "namespace": namespace, "name": name });
        if let (Some(fields), Some(differences)) = (value.as_object_mut(), &self.differences) {
            let differences = differences.iter().flat_map(Difference::values);
            fields.insert("differences".to_owned(), differences.collect());
        }
        value
    }
}
