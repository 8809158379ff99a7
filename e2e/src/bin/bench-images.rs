//! `make bench-images`: image policies, updates of manifests and notifications, beside Flux's where its programs are given.

use std::process::ExitCode;

use clap::Parser;
use weir_e2e::bench_images::{Options, run};

#[tokio::main]
async fn main() -> ExitCode {
    weir_e2e::bench::ended(&run(&Options::parse()).await)
}
