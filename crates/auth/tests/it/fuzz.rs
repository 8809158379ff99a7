//! Replays the seeds of the fuzz targets.
#![allow(unreachable_pub, unused_attributes, reason = "each target is the root of a program as well")]

#[path = "../../fuzz/fuzz_targets/claims.rs"]
mod claims;
#[path = "../../fuzz/fuzz_targets/client_certificate.rs"]
mod client_certificate;
#[path = "../../fuzz/fuzz_targets/docker_config.rs"]
mod docker_config;
#[path = "../../fuzz/fuzz_targets/secret.rs"]
mod secret;
