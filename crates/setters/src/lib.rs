//! Writes image references into marked YAML scalars, in place.
//!
//! ```text
//! file text + setters -> scan (marked scalars with byte spans) -> splice -> check -> new text + what changed
//! ```
//!
//! A marker is a comment such as `# {"$imagepolicy": "ns:policy:tag"}` beside a scalar. Invariants: only the
//! bytes of a marked scalar's token change (its tag, if that would contradict the new value, and the chomping
//! of a block); a file without a changed value is not touched; editing twice is editing once; the result is
//! parsed again and must differ from the input in the marked values alone.
//!
//! The crate never expands aliases, but for names of objects, and never reads files: callers walk the tree and hand over text.

mod edit;
mod file;
mod marker;
mod plain;
mod scan;
mod setter;
mod update;

pub use edit::{Edited, SetterError, edit, idle};
pub use file::is_candidate;
pub use marker::SCREEN;
pub use scan::{MAX_DOCUMENTS, MAX_FILE_SIZE, MAX_NESTING, MAX_NODES};
pub use setter::{Image, PolicyName, Setters};
pub use update::{Change, Entry, ObjectId, Update};
