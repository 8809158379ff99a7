//! `make bench-source`: sources alone, beside Flux's source controller where its binary is given.

use std::process::ExitCode;

use clap::Parser;
use weir_e2e::bench_source::{Options, run};

#[tokio::main]
async fn main() -> ExitCode {
    weir_e2e::bench::ended(&run(&Options::parse()).await)
}
