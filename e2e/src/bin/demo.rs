//! `make demo`: the whole loop, shown and checked step by step.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    match weir_e2e::demo::play().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nThe demo failed: {error:#}");
            ExitCode::FAILURE
        }
    }
}
