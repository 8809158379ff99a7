//! A plan as people and programs read it.

use serde_json::{Value, json};
use weir_ssa::Action;

use super::outcome::{Outcome, State};
use crate::changes::Change;
use crate::output::{Colour, Paint, plain};

/// A finished plan.
pub(super) struct Report {
    /// `Kind/namespace/name` of the source.
    pub(super) source: String,
    pub(super) revision: String,
    pub(super) outcomes: Vec<Outcome>,
}

/// Objects by what would happen to them.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Counts {
    create: usize,
    change: usize,
    prune: usize,
}

impl Counts {
    /// Returns true when anything would happen.
    pub(super) fn any(self) -> bool {
        self.create + self.change + self.prune > 0
    }
}

impl Report {
    fn changes(&self) -> impl Iterator<Item = &Change> {
        self.outcomes.iter().flat_map(|outcome| &outcome.changes)
    }

    /// Counts the objects.
    pub(super) fn counts(&self) -> Counts {
        let count = |action| self.changes().filter(|change| change.action == action).count();
        Counts {
            create: count(Action::Created),
            change: count(Action::Configured),
            prune: count(Action::Deleted),
        }
    }

    /// Returns the errors, each with its Kustomization.
    pub(super) fn errors(&self) -> Vec<String> {
        let of = |outcome: &Outcome| {
            let subject = outcome.id.subject();
            outcome.errors.iter().map(move |error| format!("{subject}: {error}")).collect::<Vec<_>>()
        };
        self.outcomes.iter().flat_map(of).collect()
    }

    /// Returns the report for people: the Kustomizations with changes, and a summary.
    pub(super) fn text(&self, paint: Paint) -> String {
        let mut text: String = self.outcomes.iter().map(|outcome| outcome.text(paint)).collect();
        let Counts { create, change, prune } = self.counts();
        let summary = format!("{create} to create, {change} to change, {prune} to prune\n");
        text.push_str(&paint.paint(Colour::Bold, &summary));
        text
    }

    /// Returns the report for programs.
    pub(super) fn value(&self) -> Value {
        let Counts { create, change, prune } = self.counts();
        json!({
            "source": self.source,
            "revision": self.revision,
            "kustomizations": self.outcomes.iter().map(Outcome::value).collect::<Vec<_>>(),
            "summary": { "create": create, "change": change, "prune": prune },
        })
    }
}

impl Outcome {
    fn text(&self, paint: Paint) -> String {
        let subject = plain(&self.id.subject());
        let changes: String = self.changes.iter().map(|change| change.text(paint)).collect();
        let title = match self.state {
            State::Skipped(reason) => return format!("⚠️ {subject} skipped: {reason}\n"),
            State::Created => paint.paint(Colour::Green, &format!("📁 {subject} created\n")),
            State::Deleted => paint.paint(Colour::Red, &format!("📁 {subject} deleted\n")),
            State::Kept if changes.is_empty() => return String::new(),
            State::Kept => paint.paint(Colour::Bold, &format!("📁 {subject} changed\n")),
        };
        title + &changes
    }

    fn value(&self) -> Value {
        let state = match self.state {
            State::Created => "created",
            State::Kept => "kept",
            State::Deleted => "deleted",
            State::Skipped(_) => "skipped",
        };
        let shown = self.changes.iter().filter(|change| change.is_one() || change.action == Action::Skipped);
        let changes: Vec<_> = shown.map(Change::value).collect();
        let mut value = json!({
            "namespace": self.id.namespace, "name": self.id.name, "state": state, "changes": changes,
        });
        if let Some(fields) = value.as_object_mut() {
            if let State::Skipped(reason) = self.state {
                fields.insert("reason".to_owned(), reason.into());
            }
            if !self.errors.is_empty() {
                fields.insert("errors".to_owned(), self.errors.clone().into());
            }
        }
        value
    }
}
