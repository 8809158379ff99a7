//! The choice of the latest tag: version ranges, alphabetical and numerical order, and the filter before them.
//!
//! ```text
//! tags -> filter (pattern, extract) -> policy (semver | alphabetical | numerical) -> the original tag
//! ```
//!
//! Invariants: nothing here does IO or reads a clock; the answer depends on the *set* of tags only, never on
//! the order a registry listed them in; every expression from outside is capped in size and runs in linear time.
//!
//! [`semver`] is also what Git tags and OCI tags are selected with, [`go_regex`] what every Flux field that
//! holds a regular expression is compiled with.

pub mod filter;
pub mod go_regex;
pub mod numerical;
pub mod select;
pub mod semver;

pub use filter::TagFilter;
pub use select::{Order, Policy, PolicyError, select};
