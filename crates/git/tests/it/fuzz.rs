//! Replays the seeds of the fuzz targets.
#![allow(unreachable_pub, unused_attributes, reason = "each target is the root of a program as well")]

#[path = "../../fuzz/fuzz_targets/conversation.rs"]
mod conversation;
#[path = "../../fuzz/fuzz_targets/gitmodules.rs"]
mod gitmodules;
#[path = "../../fuzz/fuzz_targets/identity.rs"]
mod identity;
#[path = "../../fuzz/fuzz_targets/known_hosts.rs"]
mod known_hosts;
#[path = "../../fuzz/fuzz_targets/proxy.rs"]
mod proxy;
