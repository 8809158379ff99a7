//! `make e2e`: Weir as separate Pods on a real node.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

/// Plays the main scenarios with Weir's services as Pods.
#[derive(Debug, Parser)]
struct Arguments {
    /// Folder with a layout for each image, as `make images` writes it.
    #[arg(long, default_value = "target/images")]
    images: PathBuf,
}

#[tokio::main]
async fn main() -> ExitCode {
    match weir_e2e::pods::play(Arguments::parse().images).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nFailed: {error:#}");
            ExitCode::FAILURE
        }
    }
}
