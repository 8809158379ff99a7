//! The kit against the real programs.
// Tests read whole answers of their own servers.
#![allow(clippy::disallowed_methods)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod architecture;
mod cluster;
mod control_plane;
mod fault_proxy;
mod git;
mod left_behind;
mod registry;
mod webhook_sink;
