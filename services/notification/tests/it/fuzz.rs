//! Replays the seeds of the fuzz targets.
#![allow(unreachable_pub, unused_attributes, reason = "each target is the root of a program as well")]

#[path = "../../fuzz/fuzz_targets/event.rs"]
mod event;
#[path = "../../fuzz/fuzz_targets/nats.rs"]
mod nats;
#[path = "../../fuzz/fuzz_targets/oidc.rs"]
mod oidc;
#[path = "../../fuzz/fuzz_targets/webhook.rs"]
mod webhook;
