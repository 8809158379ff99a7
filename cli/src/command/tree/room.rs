//! The room that a tree may take.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::Error;

/// Objects of a tree: those of a thousand Kustomizations with two hundred each. Kustomizations that lead to the same ones on several ways make
/// larger trees of few objects, which would take all memory.
pub(super) const MAX_NODES: usize = 200_000;

/// The objects that still have room.
pub(super) struct Room(AtomicUsize);

impl Room {
    /// Room for so many objects.
    pub(super) fn of(objects: usize) -> Self {
        Self(AtomicUsize::new(objects))
    }

    /// Takes room for objects, or refuses the tree.
    pub(super) fn take(&self, objects: usize) -> Result<(), Error> {
        let less = |left: usize| left.checked_sub(objects);
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        let too_large = |_| {
            Error::Api(format!(
                "the tree has more than {MAX_NODES} objects; --compact leaves out all but the toolkit's own kinds, and a \
                 Kustomization further down has a smaller tree"
            ))
        };
        taken.map(drop).map_err(too_large)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_an_end() {
        let room = Room::of(3);
        assert!(room.take(2).is_ok() && room.take(2).is_err() && room.take(1).is_ok());
        let reason = room.take(1).unwrap_err().to_string();
        assert!(reason.starts_with("the tree has more than 200000 objects"), "{reason}");
    }
}
