//! Replays the seeds of the fuzz targets.
#![allow(unreachable_pub, unused_attributes, reason = "each target is the root of a program as well")]

#[path = "../../fuzz/fuzz_targets/chart.rs"]
mod chart;
#[path = "../../fuzz/fuzz_targets/files.rs"]
mod files;
#[path = "../../fuzz/fuzz_targets/index.rs"]
mod index;
#[path = "../../fuzz/fuzz_targets/values.rs"]
mod values;
