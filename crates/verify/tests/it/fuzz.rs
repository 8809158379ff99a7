//! Replays the seeds of the fuzz targets.
#![allow(unreachable_pub, unused_attributes, reason = "each target is the root of a program as well")]
#![allow(clippy::duplicate_mod, reason = "each target has the fixture, as a program of its own")]

#[path = "../../fuzz/fuzz_targets/cosign.rs"]
mod cosign;
#[path = "../../fuzz/fuzz_targets/crl.rs"]
mod crl;
#[path = "../../fuzz/fuzz_targets/git.rs"]
mod git;
#[path = "../../fuzz/fuzz_targets/notation.rs"]
mod notation;
#[path = "../../fuzz/fuzz_targets/ocsp.rs"]
mod ocsp;
#[path = "../../fuzz/fuzz_targets/ring.rs"]
mod ring;
#[path = "../../fuzz/fuzz_targets/timestamp.rs"]
mod timestamp;
