//! The verbs, one file each.

pub(crate) mod build;
pub(crate) mod completion;
pub(crate) mod get;
pub(crate) mod reconcile;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod sops;
pub(crate) mod suspend;
pub(crate) mod version;
pub(crate) mod watch;
