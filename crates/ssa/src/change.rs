use std::fmt;

use crate::{Conflict, Entry, ObjectId};

/// The change of one object (KS-SSA-90).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// It was not there.
    Created,
    /// It was changed.
    Configured,
    /// It is as it should be.
    Unchanged,
    /// It was deleted, or its deletion was accepted.
    Deleted,
    /// It was left alone on purpose.
    Skipped,
    /// The change could not be found or made.
    Unknown,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Created => "created",
            Self::Configured => "configured",
            Self::Unchanged => "unchanged",
            Self::Deleted => "deleted",
            Self::Skipped => "skipped",
            Self::Unknown => "unknown",
        })
    }
}

/// One object and what happened to it; displayed as `<Subject> <action>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The object.
    pub id: ObjectId,
    /// Version of its API without the group.
    pub version: String,
    /// The change.
    pub action: Action,
    /// Others whose changes it has overwritten.
    pub conflict: Conflict,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.id.subject(), self.action)
    }
}

/// The changes of an apply or a prune, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeSet(pub Vec<Change>);

impl ChangeSet {
    /// The inventory of what was applied: every entry, also the unchanged and skipped ones (KS-SSA-96).
    pub fn inventory(&self) -> Vec<Entry> {
        let entry = |change: &Change| Entry { id: change.id.clone(), version: change.version.clone() };
        self.0.iter().map(entry).collect()
    }

    /// One line for each object that an apply has changed (KS-SSA-91); empty when nothing did.
    pub fn changed_lines(&self) -> String {
        self.lines_of(|action| !matches!(action, Action::Unchanged | Action::Skipped))
    }

    /// One line for each object that something was done about (KS-GC-6); a failure has a message of its own.
    pub fn lines(&self) -> String {
        self.lines_of(|action| action != Action::Unknown)
    }

    fn lines_of(&self, keep: impl Fn(Action) -> bool) -> String {
        let kept = self.0.iter().filter(|change| keep(change.action));
        kept.map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }
}
