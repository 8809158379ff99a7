//! The extent of an apply.

/// The part of the objects that an apply touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The result may differ from what was applied.
    Changed,
    /// Every object, whatever the watches say.
    Full,
    /// Somebody else has changed an object between two reconciliations; the history does not show it.
    Correction,
}
