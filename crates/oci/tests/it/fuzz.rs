//! Replays the seeds of the fuzz targets.
#![allow(unreachable_pub, unused_attributes, reason = "each target is the root of a program as well")]

#[path = "../../fuzz/fuzz_targets/challenge.rs"]
mod challenge;
#[path = "../../fuzz/fuzz_targets/link.rs"]
mod link;
#[path = "../../fuzz/fuzz_targets/manifest.rs"]
mod manifest;
#[path = "../../fuzz/fuzz_targets/repository.rs"]
mod repository;
#[path = "../../fuzz/fuzz_targets/tags.rs"]
mod tags;
