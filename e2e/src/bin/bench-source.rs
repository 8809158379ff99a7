//! `make bench-source`: sources alone, beside Flux's source controller where its binary is given.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

/// Measures many small sources, a large repository, a large Helm index and a bucket of many objects.
#[derive(Parser)]
struct Args {
    /// Weir's source controller.
    #[arg(long, default_value = "target/release/source-controller")]
    weir: PathBuf,
    /// Flux's source controller; without it Weir's is measured alone.
    #[arg(long, env = "FLUX_SOURCE_CONTROLLER")]
    flux: Option<PathBuf>,
    /// OCIRepositories and GitRepositories.
    #[arg(long, default_value_t = 1000)]
    n: usize,
    /// MiB of each of the two large repositories.
    #[arg(long, default_value_t = 1024)]
    monorepo: usize,
    /// MiB of the Helm index.
    #[arg(long, default_value_t = 50)]
    index: usize,
    /// Objects of the bucket.
    #[arg(long, default_value_t = 10_000)]
    objects: usize,
    /// MiB of memory that the program may use, pages of files included; takes root.
    #[arg(long)]
    memory: Option<usize>,
    /// Scenarios: oci, git, monorepo, whole, helm, bucket; all by default.
    #[arg(long)]
    only: Vec<String>,
    /// Only print; leave docs/benchmarks.md as it is.
    #[arg(long)]
    dry_run: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    let options = weir_e2e::bench_source::Options {
        weir: args.weir,
        flux: args.flux,
        size: args.n,
        monorepo: args.monorepo,
        index: args.index,
        objects: args.objects,
        memory: args.memory,
        only: args.only,
        write: !args.dry_run,
    };
    weir_e2e::bench::ended(&weir_e2e::bench_source::run(&options).await)
}
