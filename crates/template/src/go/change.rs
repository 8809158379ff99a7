//! The dictionaries that a run has changed.

use std::rc::Rc;

use super::value::Map;

/// Holds the dictionaries that `set` and its like have changed, and empties them in the end. Only these can hold
/// themselves, or stand in a chain of values that is longer than the cap; emptied one by one, all are freed
/// without deep recursion.
#[derive(Debug, Default)]
pub(super) struct Changes(Vec<Rc<Map>>);

impl Changes {
    /// To be called before a dictionary is changed.
    pub(super) fn note(&mut self, map: &Rc<Map>) {
        if !self.0.last().is_some_and(|last| Rc::ptr_eq(last, map)) {
            self.0.push(Rc::clone(map));
        }
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.0.iter().for_each(|map| map.empty());
    }
}
