//! Replays the seeds of the fuzz targets.
#![allow(unreachable_pub, unused_attributes, reason = "each target is the root of a program as well")]

#[path = "../../fuzz/fuzz_targets/decode.rs"]
mod decode;
#[path = "../../fuzz/fuzz_targets/git_url.rs"]
mod git_url;
#[path = "../../fuzz/fuzz_targets/tree.rs"]
mod tree;
#[path = "../../fuzz/fuzz_targets/yaml.rs"]
mod yaml;
