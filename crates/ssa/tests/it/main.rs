//! The apply engine against a real API server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod apply;
mod others;
mod prune;
mod replacement;
mod secrets;
mod stages;
mod takeover;
mod time;
mod versions;
mod watch;
mod world;
