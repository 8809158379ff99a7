//! `make bench-images`: image policies, updates of manifests and notifications, beside Flux's where its programs are given.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use weir_e2e::bench_images::{Flux, Options};

/// Measures scans and policies of many images, many updates of manifests, and many notifications.
#[derive(Parser)]
struct Args {
    /// The folder of Weir's programs.
    #[arg(long, default_value = "target/release")]
    weir: PathBuf,
    /// Flux's image reflector; without it Weir's is measured alone.
    #[arg(long, env = "FLUX_IMAGE_REFLECTOR_CONTROLLER")]
    flux_image_reflector: Option<PathBuf>,
    /// Flux's image automation.
    #[arg(long, env = "FLUX_IMAGE_AUTOMATION_CONTROLLER")]
    flux_image_automation: Option<PathBuf>,
    /// Flux's notification controller.
    #[arg(long, env = "FLUX_NOTIFICATION_CONTROLLER")]
    flux_notification: Option<PathBuf>,
    /// ImageRepositories and ImagePolicies.
    #[arg(long, default_value_t = 500)]
    images: usize,
    /// ImageUpdateAutomations, each with a repository of its own.
    #[arg(long, default_value_t = 100)]
    updates: usize,
    /// Events.
    #[arg(long, default_value_t = 2000)]
    events: usize,
    /// Only print; leave docs/benchmarks.md as it is.
    #[arg(long)]
    dry_run: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    let options = Options {
        weir: args.weir,
        flux: Flux {
            image_reflector: args.flux_image_reflector,
            image_automation: args.flux_image_automation,
            notification: args.flux_notification,
        },
        images: args.images,
        updates: args.updates,
        events: args.events,
        write: !args.dry_run,
    };
    weir_e2e::bench::ended(&weir_e2e::bench_images::run(&options).await)
}
