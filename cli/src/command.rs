//! The verbs, one file each.

pub(crate) mod build;
pub(crate) mod check;
pub(crate) mod completion;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod export;
pub(crate) mod get;
pub(crate) mod install;
pub(crate) mod reconcile;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod sops;
pub(crate) mod suspend;
pub(crate) mod uninstall;
pub(crate) mod version;
pub(crate) mod watch;
