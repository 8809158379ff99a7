//! `make bench`: Flux's published benchmark in shape, on a control plane of this machine.

use std::process::ExitCode;

use clap::Parser;

/// Measures sources, install, upgrade, resync and deletion of N OCIRepositories and N Kustomizations.
#[derive(Parser)]
struct Args {
    /// How many of each; may be given several times.
    #[arg(long, default_values_t = [100, 1000])]
    n: Vec<usize>,
    /// How many objects of a kind Weir works on at once.
    #[arg(long, default_value_t = 20)]
    concurrent: usize,
    /// How many processes share the objects by the label sharding.fluxcd.io/key.
    #[arg(long, default_value_t = 1)]
    shards: usize,
    /// Print every kind of request, to see where requests go.
    #[arg(long)]
    detail: bool,
    /// Only print; leave docs/benchmarks.md as it is.
    #[arg(long)]
    dry_run: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    let options = weir_e2e::bench::Options {
        sizes: args.n,
        concurrent: args.concurrent,
        shards: args.shards,
        detail: args.detail,
        write: !args.dry_run,
    };
    match weir_e2e::bench::run(&options).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("The benchmark failed: {error:#}");
            ExitCode::FAILURE
        }
    }
}
