//! `weir build DIR`: what `kustomize build` prints, byte for byte, by the engine that the kustomize service builds with.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use weir_kustomize::{LoadRestriction, Options, Output, Reorder};

use super::remote::RemoteFlags;
use super::{files, remote, show_warning};
use crate::error::Error;
use crate::kustomization;
use crate::output::print;

/// The build to run.
#[derive(Args, Debug)]
pub(crate) struct Directory {
    /// Directory with a kustomization file.
    #[arg(default_value = ".", value_name = "DIR")]
    directory: PathBuf,
    /// From where files may be read.
    #[arg(long, value_enum, default_value_t = LoadRestrictor::RootOnly)]
    load_restrictor: LoadRestrictor,
    /// Order of the resources; legacy unless the kustomization file has sortOptions.
    #[arg(long, value_enum)]
    reorder: Option<Order>,
    /// Add the label app.kubernetes.io/managed-by to every resource.
    #[arg(long)]
    enable_managedby_label: bool,
    #[command(flatten)]
    remote: RemoteFlags,
    /// Write to this file, or one file a resource if it is a directory.
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LoadRestrictor {
    /// The directory of the kustomization file that names them, and below.
    #[value(name = "LoadRestrictionsRootOnly", alias = "root-only", alias = "rootOnly")]
    RootOnly,
    /// Anywhere.
    #[value(name = "LoadRestrictionsNone", alias = "none")]
    None,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Order {
    /// Namespaces and other kinds that the rest depends on first.
    Legacy,
    /// As they were loaded.
    None,
}

impl Directory {
    /// Returns true when the argument is a word of something else to build; a directory of that name is `./kustomization`.
    pub(crate) fn is_a_kind(&self) -> bool {
        ["kustomization", "ks", "artifact"].iter().any(|word| self.directory == Path::new(word))
    }

    /// Builds and prints.
    pub(crate) fn run(self) -> Result<(), Error> {
        let output = self.build()?;
        let rendered = |error: weir_kustomize::Error| Error::Build(error.to_string());
        match &self.output {
            None => print(&output.to_yaml().map_err(rendered)?),
            Some(path) if path.is_dir() => files::write_all(path, &output),
            Some(path) => write(path, &output.to_yaml().map_err(rendered)?),
        }
    }

    fn build(&self) -> Result<Output, Error> {
        // The load restrictor decides what of the disk may be read.
        let (disk, directory) = kustomization::on_disk(&self.directory)?;
        weir_kustomize::build(&disk, &directory, &self.options())
            .map_err(|error| remote::failed(&error, error.to_string()))
    }

    fn options(&self) -> Options {
        let load_restriction = match self.load_restrictor {
            LoadRestrictor::RootOnly => LoadRestriction::RootOnly,
            LoadRestrictor::None => LoadRestriction::None,
        };
        let reorder = match self.reorder {
            Option::None => Reorder::Unspecified,
            Some(Order::Legacy) => Reorder::Legacy,
            Some(Order::None) => Reorder::None,
        };
        let (managed_by_label, remote) = (self.enable_managedby_label, self.remote.remote());
        let on_warning = show_warning;
        Options { load_restriction, reorder, managed_by_label, remote, on_warning, ..Options::cli() }
    }
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(path, text).map_err(|cause| unusable(path, cause))
}

fn unusable(path: &Path, cause: std::io::Error) -> Error {
    Error::File { path: path.display().to_string(), cause }
}
