//! `weir build kustomization`: what the kustomize service would apply, made of local files (CLI-BLD01 to CLI-BLD03).
//!
//! The service's own code builds. Nothing is written below `--path`: a kustomization file that is missing there is made in
//! memory.

mod local_sources;
mod manifests;
mod mask;
mod spec;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use kube::ResourceExt;
use serde_json::Value;
use weir_kustomize_controller::build::to_yaml;

use self::local_sources::LocalSource;
use self::spec::Specs;
use super::remote::RemoteFlags;
use crate::error::Error;
use crate::global::Global;
use crate::output::print;

/// Kustomizations that `--recursive` builds. A fleet has some hundred; the cap ends names that are made up by the build.
const MAX_KUSTOMIZATIONS: usize = 10_000;

/// Which Kustomization, and which files.
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
    /// Name of the Kustomization.
    name: Option<String>,
    /// Directory with the manifests.
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
    /// File with the Kustomization; its spec counts instead of the one in the cluster.
    #[arg(long, value_name = "FILE")]
    kustomization_file: Option<PathBuf>,
    /// Files that the directory's kustomization file is not to name, in .gitignore format; may be given several times.
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    ignore_paths: Vec<String>,
    /// Fail when a variable without a default is not set.
    #[arg(long)]
    strict_substitute: bool,
    /// Build the Kustomizations that come out of it, too.
    #[arg(short, long)]
    recursive: bool,
    /// Where the sources of these are: Kind/namespace/name=path; may be given several times.
    #[arg(long, value_name = "SOURCE=DIR", value_delimiter = ',')]
    local_sources: Vec<LocalSource>,
    /// Taken for compatibility: builds never write into the directory.
    #[arg(long)]
    in_memory_build: bool,
    /// Ask no cluster; needs --kustomization-file.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    remote: RemoteFlags,
}

impl Kustomization {
    /// Builds and prints; Ctrl-C ends it.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        tokio::select! {
            // The signal first, so that it is waited for before anything begins.
            biased;
            _ = tokio::signal::ctrl_c() => print("Build cancelled... exiting.\n"),
            manifests = self.build(global) => print(&manifests?),
        }
    }

    /// The manifests as YAML, each with a separator behind it.
    async fn build(&self, global: &Global) -> Result<String, Error> {
        let name = self.name.as_ref().ok_or(Error::NameRequired("kustomization"))?;
        let path = self.path.as_deref().unwrap_or(Path::new(""));
        let directory = existing_directory(path)?;
        if self.dry_run && self.kustomization_file.is_none() {
            return Err(Error::DryRunWithoutFile);
        }
        let cluster = if self.dry_run { None } else { Some(global.cluster().await?) };
        let specs = Specs { cluster, file: self.kustomization_file.as_deref() };
        let root = specs.of(name, &global.namespace()?).await?;
        let mut text = String::new();
        for object in self.objects(&specs, root, directory).await? {
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
            if !seen.insert((kustomization.namespace(), kustomization.name_any())) {
                continue;
            }
            if seen.len() > MAX_KUSTOMIZATIONS {
                return Err(Error::Build(format!("more than {MAX_KUSTOMIZATIONS} Kustomizations")));
            }
            let built = self.one(specs, kustomization, directory).await?;
            if self.recursive {
                let mut nested = self.nested(specs, &built).await?;
                nested.reverse();
                left.append(&mut nested);
            }
            objects.extend(built);
        }
        Ok(objects)
    }

    async fn one(
        &self,
        specs: &Specs<'_>,
        kustomization: weir_api::Kustomization,
        directory: PathBuf,
    ) -> Result<Vec<Value>, Error> {
        let variables = specs.variables(&kustomization).await?;
        let ignored = self.ignore_paths.join("\n");
        let (is_strict, remote) = (self.strict_substitute, self.remote.remote());
        let building = tokio::task::spawn_blocking(move || {
            manifests::build(&kustomization, variables, &directory, &ignored, is_strict, remote)
        });
        building.await.map_err(|panic| Error::Build(panic.to_string()))?
    }

    /// The Kustomizations among the objects, each with the directory that its source and path name.
    async fn nested(
        &self,
        specs: &Specs<'_>,
        objects: &[Value],
    ) -> Result<Vec<(weir_api::Kustomization, PathBuf)>, Error> {
        let mut nested = Vec::new();
        for object in objects {
            let Some(object) = spec::kustomization(object)? else { continue };
            let directory = local_sources::directory(&self.local_sources, &object)?;
            nested.push((specs.of_nested(object).await?, existing_directory(&directory)?));
        }
        Ok(nested)
    }
}

/// The real path of a directory.
fn existing_directory(path: &Path) -> Result<PathBuf, Error> {
    let real = path.canonicalize().ok().filter(|path| path.is_dir());
    real.ok_or_else(|| Error::ResourcePath(path.display().to_string()))
}
