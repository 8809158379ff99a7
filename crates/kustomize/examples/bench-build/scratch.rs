//! The folder outside of the repository where trees and the reference are.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The release whose output is the yardstick.
const REFERENCE: &str = "sigs.k8s.io/kustomize/kustomize/v5@v5.8.1";
/// Writes the large trees; kept beside the repository, not in it.
const GENERATOR: &str = "../shared/conformance/kustomize-perf/gen.py";

/// The folder; what is expensive to make stays there for the next run.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn open() -> Result<Self> {
        let path = std::env::var_os("WEIR_BENCH_SCRATCH")
            .map_or_else(|| std::env::temp_dir().join("weir-bench-build"), PathBuf::from);
        std::fs::create_dir_all(&path)?;
        // Go and the builds run elsewhere, so that relative paths would mean something else to them.
        Ok(Self(path.canonicalize()?))
    }

    /// An empty folder.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf> {
        let path = self.0.join(name);
        if path.exists() {
            std::fs::remove_dir_all(&path)?;
        }
        std::fs::create_dir_all(&path)?;
        Ok(path)
    }

    /// The reference, installed from the Go module proxy unless it is there.
    pub(crate) fn reference(&self) -> Result<PathBuf> {
        let (bin, modules) = (self.0.join("go/bin"), self.0.join("go"));
        let program = bin.join("kustomize");
        if !program.exists() {
            println!("installing {REFERENCE} into {} …", bin.display());
            let mut go = Command::new("go");
            go.args(["install", REFERENCE]).current_dir(&self.0).env("GOBIN", &bin).env("GOPATH", &modules);
            ensure!(go.status().context("run go")?.success(), "{REFERENCE} cannot be installed");
        }
        Ok(program)
    }

    /// The generated trees, or nothing where their generator is not.
    pub(crate) fn generated(&self) -> Result<Option<PathBuf>> {
        let generator = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(GENERATOR);
        if !generator.exists() {
            println!("{GENERATOR} is not there: only hello-world is compared");
            return Ok(None);
        }
        let trees = self.0.join("perf");
        let status = Command::new("python3").arg(generator).arg(&trees).status().context("run python3")?;
        ensure!(status.success(), "{GENERATOR} failed");
        Ok(Some(trees))
    }
}
