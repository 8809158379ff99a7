//! `weir build kustomization`: what the kustomize service would apply, made of local files (CLI-BLD01 to CLI-BLD03).
//!
//! The service's own code builds. Nothing is written below `--path`: a kustomization file that is missing there is made in
//! memory.

mod local_sources;
mod manifests;
mod mask;
mod spec;
mod values;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use kube::ResourceExt;
use serde_json::Value;
use weir_kustomize::{FileSystem, Remote, Warning};
use weir_kustomize_controller::build::to_yaml;
use weir_runtime::args::Switch;

use self::local_sources::LocalSource;
pub(crate) use self::local_sources::source_of;
pub(crate) use self::manifests::Place;
pub(crate) use self::mask::MASK;
pub(crate) use self::spec::{Specs, kustomization};
pub(crate) use self::values::{Data, Values};
use super::remote::ServiceRemoteFlags;
use super::show_warning;
use crate::cluster::Cluster;
use crate::csv::Record;
use crate::error::Error;
use crate::given::path;
use crate::global::Global;
use crate::output::print;

/// Kustomizations that `--recursive` or a plan builds. A fleet has some hundred; the cap ends names that are made up by the build.
pub(crate) const MAX_KUSTOMIZATIONS: usize = 10_000;

/// The Kustomization to build.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  # The local files as they would be applied
  weir build kustomization apps --path clusters/prod/apps

  # With the spec of a local file
  weir build kustomization apps --path clusters/prod/apps --kustomization-file clusters/prod/apps.yaml

  # Without a cluster; variables of ConfigMaps and Secrets are not known then
  weir build kustomization apps --path clusters/prod/apps --kustomization-file clusters/prod/apps.yaml --dry-run

  # With all Kustomizations that come out of it
  weir build kustomization flux-system --path clusters/prod --recursive \\
    --local-sources GitRepository/flux-system/flux-system=.")]
pub(crate) struct Kustomization {
    #[command(flatten)]
    local: Local,
    /// Ask no cluster; needs --kustomization-file.
    #[arg(long)]
    dry_run: bool,
}

/// A Kustomization, and the local files that stand for its source.
#[derive(Args, Debug)]
pub(crate) struct Local {
    /// Name of the Kustomization.
    name: Option<String>,
    /// Directory with the manifests.
    #[arg(long, value_name = "DIR", value_parser = path())]
    path: Option<PathBuf>,
    /// File with the Kustomization; its spec counts instead of the one in the cluster.
    #[arg(long, value_name = "FILE", value_parser = path())]
    kustomization_file: Option<PathBuf>,
    /// Files to leave out of a generated kustomization file, in .gitignore format; may be given several times.
    #[arg(long, value_name = "PATTERN")]
    ignore_paths: Vec<Record>,
    /// Fail when a variable without a default is not set.
    #[arg(long)]
    strict_substitute: bool,
    /// Build the Kustomizations that come out of it, too.
    #[arg(short, long, switched_off())]
    recursive: bool,
    /// Local files of their sources: Kind/namespace/name=path; may be given several times.
    #[arg(long, value_name = "SOURCE=DIR")]
    local_sources: Vec<Record<LocalSource>>,
    /// Taken for compatibility: builds never write into the directory.
    #[arg(long)]
    in_memory_build: bool,
    #[command(flatten)]
    remote: ServiceRemoteFlags,
}

impl Kustomization {
    /// Builds and prints; Ctrl-C ends it.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        or_cancelled(async { print(&self.build(global).await?) }).await
    }

    /// The manifests as YAML, each with a separator behind it.
    async fn build(&self, global: &Global) -> Result<String, Error> {
        let (name, directory) = (self.local.name()?, self.local.directory()?);
        if self.dry_run && !self.local.has_file() {
            return Err(Error::DryRunWithoutFile);
        }
        let cluster = if self.dry_run { None } else { Some(global.cluster().await?) };
        let specs = self.local.specs(cluster);
        let root = specs.of(name, &global.namespace()?).await?;
        let mut text = String::new();
        for object in self.objects(&specs, root, directory).await? {
            mask::check(&object)?;
            text.push_str(&to_yaml(&object).map_err(|error| Error::Build(error.to_string()))?);
            text.push_str("---\n");
        }
        Ok(text)
    }

    /// The objects of a Kustomization; with `--recursive` those of each Kustomization among them follow, in their order. A
    /// Kustomization that comes up again, as in a ring, is built once.
    async fn objects(
        &self,
        specs: &Specs<'_>,
        root: weir_api::Kustomization,
        directory: PathBuf,
    ) -> Result<Vec<Value>, Error> {
        let mut left = vec![(root, directory)];
        let mut seen = BTreeSet::new();
        let mut objects = Vec::new();
        while let Some((kustomization, directory)) = left.pop() {
            if !seen.insert(name_of(&kustomization)) {
                continue;
            }
            if seen.len() > MAX_KUSTOMIZATIONS {
                return Err(Error::Build(format!("more than {MAX_KUSTOMIZATIONS} Kustomizations")));
            }
            let built = self.local.build(specs, kustomization, directory).await?;
            let mut nested = Vec::new();
            for object in &built {
                let found = self.local.nested(object)?;
                // Nobody has to know where the files of this one are: they are being built.
                if let Some(found) = found.filter(|found| !seen.contains(&name_of(found))) {
                    nested.push(self.local.place(specs, found).await?);
                }
            }
            nested.reverse();
            left.append(&mut nested);
            objects.extend(built);
        }
        Ok(objects)
    }
}

/// Returns the namespace and the name of a Kustomization.
fn name_of(kustomization: &weir_api::Kustomization) -> (Option<String>, String) {
    (kustomization.namespace(), kustomization.name_any())
}

impl Local {
    /// The name of the Kustomization.
    pub(crate) fn name(&self) -> Result<&str, Error> {
        self.name.as_deref().ok_or(Error::NameRequired("kustomization"))
    }

    /// The real path of the directory with the manifests.
    pub(crate) fn directory(&self) -> Result<PathBuf, Error> {
        existing_directory(self.path.as_deref().unwrap_or(Path::new("")))
    }

    /// Returns true when the spec comes from a file.
    pub(crate) fn has_file(&self) -> bool {
        self.file().is_some()
    }

    /// The file with the spec; one without a name counts as none.
    fn file(&self) -> Option<&Path> {
        self.kustomization_file.as_deref().filter(|file| !file.as_os_str().is_empty())
    }

    /// The place where specs are looked for; without a cluster only in the file.
    pub(crate) fn specs(&self, cluster: Option<Cluster>) -> Specs<'_> {
        Specs { cluster, file: self.file(), values: Values::default() }
    }

    /// Builds a Kustomization over a directory.
    pub(crate) async fn build(
        &self,
        specs: &Specs<'_>,
        kustomization: weir_api::Kustomization,
        directory: PathBuf,
    ) -> Result<Vec<Value>, Error> {
        let ignored: Vec<_> = Record::items(&self.ignore_paths).map(String::as_str).collect();
        let ignored = ignored.join("\n");
        let place = move || Place::local(&directory, &ignored);
        let remote = self.remote.remote();
        build(specs, kustomization, place, self.strict_substitute, remote, show_warning).await
    }

    /// Returns the Kustomization that a built object is; with `--recursive` only.
    pub(crate) fn nested(&self, object: &Value) -> Result<Option<weir_api::Kustomization>, Error> {
        Ok(spec::kustomization(object)?.filter(|_| self.recursive))
    }

    /// Returns a nested Kustomization as it counts, with the directory that its source and path name.
    pub(crate) async fn place(
        &self,
        specs: &Specs<'_>,
        nested: weir_api::Kustomization,
    ) -> Result<(weir_api::Kustomization, PathBuf), Error> {
        let directory = local_sources::directory(Record::items(&self.local_sources), &nested)?;
        Ok((specs.of_nested(nested).await?, existing_directory(&directory)?))
    }
}

/// Builds a Kustomization over the files of a place, which is made where it may take its time.
pub(crate) async fn build<F: FileSystem>(
    specs: &Specs<'_>,
    kustomization: weir_api::Kustomization,
    place: impl FnOnce() -> Result<Place<F>, Error> + Send + 'static,
    is_strict: bool,
    remote: Option<Arc<dyn Remote>>,
    on_warning: fn(&Warning),
) -> Result<Vec<Value>, Error> {
    let variables = specs.variables(&kustomization).await?;
    let building = tokio::task::spawn_blocking(move || {
        manifests::build(&kustomization, variables, place()?, is_strict, remote, on_warning)
    });
    building.await.map_err(|panic| Error::Build(panic.to_string()))?
}

/// Waits for something that Ctrl-C may end.
pub(crate) async fn or_cancelled(work: impl Future<Output = Result<(), Error>>) -> Result<(), Error> {
    tokio::select! {
        // The signal first, so that it is waited for before anything begins.
        biased;
        _ = tokio::signal::ctrl_c() => print("Build cancelled... exiting.\n"),
        done = work => done,
    }
}

/// The real path of a directory.
pub(crate) fn existing_directory(path: &Path) -> Result<PathBuf, Error> {
    let real = path.canonicalize().ok().filter(|path| path.is_dir());
    real.ok_or_else(|| Error::ResourcePath(path.display().to_string()))
}
