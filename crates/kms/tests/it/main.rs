#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
//! Keys of servers. AWS is moto; Google, Azure and Vault are stand-ins that check what the vendors document. Their host names
//! lead to this machine by a proxy, with TLS as the clouds have it; Kubernetes is a real API server.

mod aws;
mod azure;
mod gcp;
mod groups;
mod operations;
mod vault;
mod world;
