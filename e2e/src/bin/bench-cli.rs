//! `make bench-cli`: the command, beside the stock one where it is given.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

/// Measures start-up, a listing of many objects, a build and a tree.
#[derive(Parser)]
struct Args {
    /// The command.
    #[arg(long, default_value = "target/release/weir")]
    weir: PathBuf,
    /// Flux's command; without it, the one on the PATH, if there is one.
    #[arg(long, env = "FLUX_CLI")]
    flux: Option<PathBuf>,
    /// Objects to list.
    #[arg(long, default_value_t = 2000)]
    objects: usize,
    /// Runs of each command, of which the median counts.
    #[arg(long, default_value_t = 11)]
    runs: usize,
    /// Only print; leave docs/benchmarks-log.md as it is.
    #[arg(long)]
    dry_run: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    let options = weir_e2e::bench_cli::Options {
        weir: args.weir,
        flux: args.flux,
        objects: args.objects,
        runs: args.runs,
        write: !args.dry_run,
    };
    weir_e2e::bench::ended(&weir_e2e::bench_cli::run(&options).await)
}
