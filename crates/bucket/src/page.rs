//! A page of a listing, and its bounds.

use crate::object::Object;

/// Objects requested at a time: the number that all services allow.
pub(crate) const PAGE_SIZE: &str = "1000";
/// Bytes of one page: its keys may have 1024 bytes each, three times as many when they are escaped.
pub(crate) const MAX_PAGE_BYTES: usize = 16 << 20;

/// A page of a listing.
pub(crate) struct Page {
    pub(crate) objects: Vec<Object>,
    /// Name of the next page.
    pub(crate) next: Option<String>,
}
