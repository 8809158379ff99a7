//! `make bench`: Flux's published benchmark in shape, and other shapes, on a control plane of this machine.

use std::process::ExitCode;

use clap::Parser;
use weir_e2e::bench::{Options, ended, run};

#[tokio::main]
async fn main() -> ExitCode {
    ended(&run(&Options::parse()).await)
}
