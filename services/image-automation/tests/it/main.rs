//! The image-automation-controller as a process, against a real control plane and real Git servers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub
)]

mod branches;
mod commits;
mod durability;
mod faults;
mod grpc;
mod policies;
mod races;
mod refspecs;
mod resolutions;
mod signing;
mod stock;
mod world;
