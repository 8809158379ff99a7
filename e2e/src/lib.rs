//! Weir as its users meet it: `weir run` beside a real control plane, a registry, Git servers and a webhook sink.
//!
//! [`World`] starts all of that, and [`FiveProcesses`] the five services as processes of their own; the scenarios in
//! `tests/it`, the demo and the benchmark play in it. A case that a unit test can show does not belong here.

mod amazon;
pub mod bench;
pub mod bench_cli;
pub mod bench_images;
pub mod bench_source;
mod chart;
pub mod demo;
mod five_processes;
mod installation;
mod kept_log;
mod kind;
pub mod pods;
mod ports;
mod status;
mod step;
mod usage;
mod weir_process;
mod world;

pub use amazon::Amazon;
pub use five_processes::{FiveProcesses, Links, Maker, Payload, Routes};
pub use installation::{Installation, NAMESPACE, Overlay, SERVICES};
pub use status::StatusClient;
pub use usage::Usage;
pub use weir_process::{WeirOptions, WeirProcess, weir_program};
pub use world::{World, WorldOptions};
