//! `make bench`: Flux's published benchmark in shape, and other shapes, on a control plane of this machine.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use weir_e2e::bench::{Options, Programs};

/// Measures sources, install, upgrade, resync and deletion of N OCIRepositories and N Kustomizations, rows of dependencies, many
/// folders of one repository, and Kustomizations of many objects.
#[derive(Parser)]
struct Args {
    /// The folder of Weir's programs.
    #[arg(long, default_value = "target/release")]
    weir: PathBuf,
    /// Flux's source controller; without it and the next one Weir is measured alone.
    #[arg(long, env = "FLUX_SOURCE_CONTROLLER", requires = "flux_kustomize")]
    flux_source: Option<PathBuf>,
    /// Flux's kustomize controller.
    #[arg(long, env = "FLUX_KUSTOMIZE_CONTROLLER")]
    flux_kustomize: Option<PathBuf>,
    /// Number of each; may be given several times.
    #[arg(long, default_values_t = [100, 1000, 5000])]
    n: Vec<usize>,
    /// The largest number for which Flux is measured too.
    #[arg(long, default_value_t = 1000)]
    flux_up_to: usize,
    /// Leave the other shapes out.
    #[arg(long)]
    only_units: bool,
    /// Objects of a Kustomization; may be given several times.
    #[arg(long, default_values_t = [1500, 10_000])]
    objects: Vec<usize>,
    /// Kustomizations in a row, each of which depends on the one before.
    #[arg(long, default_value_t = 30)]
    chain: usize,
    /// Kustomizations that share a Git repository.
    #[arg(long, default_value_t = 200)]
    siblings: usize,
    /// Objects of a kind that a service works on at once.
    #[arg(long, default_value_t = 20)]
    concurrent: usize,
    /// Pairs of services that share the objects by the label sharding.fluxcd.io/key.
    #[arg(long, default_value_t = 1)]
    shards: usize,
    /// Print every kind of request, to see where requests go.
    #[arg(long)]
    detail: bool,
    /// Only print; leave docs/ as it is.
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    fn programs(&self) -> Vec<Programs> {
        let (source, kustomize) =
            (self.weir.join("source-controller"), self.weir.join("kustomize-controller"));
        let mut all = vec![Programs { maker: Programs::WEIR, source, kustomize }];
        if let (Some(source), Some(kustomize)) = (self.flux_source.clone(), self.flux_kustomize.clone()) {
            all.push(Programs { maker: Programs::FLUX, source, kustomize });
        }
        all
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    let options = Options {
        programs: args.programs(),
        sizes: args.n,
        flux_up_to: args.flux_up_to,
        shapes: !args.only_units,
        objects: args.objects,
        chain: args.chain,
        siblings: args.siblings,
        concurrent: args.concurrent,
        shards: args.shards,
        detail: args.detail,
        write: !args.dry_run,
    };
    weir_e2e::bench::ended(&weir_e2e::bench::run(&options).await)
}
