//! The image-reflector-controller as a process, against a real control plane and real registries.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub
)]

mod access;
mod grpc;
mod pages;
mod policies;
mod scans;
mod stock;
mod world;
