//! The extent of an apply.

/// How far an apply goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The result may differ from what was applied.
    Changed,
    /// Every object, whatever the watches say.
    Full,
    /// Somebody else has changed an object between two reconciliations; the history does not show it.
    Correction,
}
