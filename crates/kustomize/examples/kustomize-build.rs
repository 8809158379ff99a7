//! `kustomize build DIR` on this engine, for measuring and comparing: `kustomize-build DIR [none|legacy]`.

use std::path::Path;
use std::process::ExitCode;

use weir_kustomize::{FsPath, LoadRestriction, Options, Reorder, RootedFs, build};

fn run() -> Result<String, String> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().ok_or("usage: kustomize-build DIR [none|legacy]")?;
    let reorder = match arguments.next().as_deref() {
        Some("none") => Reorder::None,
        _ => Reorder::Legacy,
    };
    let directory = Path::new(&directory).canonicalize().map_err(|error| error.to_string())?;
    let fs = RootedFs::new(Path::new("/")).map_err(|error| error.to_string())?;
    let root = FsPath::new(&directory.to_string_lossy()).map_err(|error| error.to_string())?;
    let options = Options { reorder, load_restriction: LoadRestriction::RootOnly, ..Options::cli() };
    let output = build(&fs, &root, &options).map_err(|error| error.to_string())?;
    for warning in &output.warnings {
        eprintln!("{warning}");
    }
    output.to_yaml().map_err(|error| error.to_string())
}

fn main() -> ExitCode {
    match run() {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("Error: {error}");
            ExitCode::FAILURE
        }
    }
}
