//! Charts in the files of a `GitRepository` or `Bucket` (SRC-CHT-11, SRC-CHT-12, SRC-CHT-14).

use std::fmt::Display;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use weir_api::Artifact;
use weir_artifact::{RelPath, TreeKind, Unpacked, Untar, UntarError, archive};
use weir_helm::chart::{self, CHART_FILE};
use weir_helm::{Chart, ChartError, Limits, Metadata};
use weir_runtime::ObjectKey;

use super::HelmChartReconciler;
use super::build::{Build, Package, Step, unpackaged};
use super::decide::Order;
use super::values::{self, Files, file_at};
use crate::source::Failure;

/// The files of a source, and the path in them where the chart is. Clones are cheap.
#[derive(Clone)]
struct Tree {
    files: Arc<Unpacked>,
    place: Option<RelPath>,
    limits: Limits,
}

/// The chart at a path, with its own metadata.
enum Found {
    Directory { metadata: Metadata },
    Package { metadata: Metadata, bytes: Bytes },
}

impl HelmChartReconciler {
    /// The chart in a source's files.
    pub(super) async fn chart_of_tree(
        &self,
        owner: &ObjectKey,
        artifact: &Artifact,
        order: &Order,
    ) -> Result<Build, Failure> {
        let place = place_of(order)?;
        let tree = Tree { files: self.unpacked(artifact).await?, place, limits: self.limits };
        let found = self.blocking({
            let tree = tree.clone();
            move || tree.find()
        });
        let found = found.await?;
        let (Found::Directory { metadata } | Found::Package { metadata, .. }) = &found;
        let version = order.version_of(&metadata.version).map_err(|error| Step::Metadata.failed(error))?;
        let is_packaged = matches!(found, Found::Directory { .. }) || !order.is_plain();
        if let Some(stored) = order.reusable(&metadata.name, &version) {
            return Ok(Build::reused(stored, is_packaged));
        }
        match found {
            Found::Package { metadata, bytes } if !is_packaged => {
                Ok(Build::pulled(metadata.name, version, bytes))
            }
            found => self.packaged(owner, tree, found, order, version).await,
        }
    }

    /// Unpacks a source's files.
    async fn unpacked(&self, artifact: &Artifact) -> Result<Arc<Unpacked>, Failure> {
        let archive = self.open(artifact).map_err(read_failure)?;
        let limits = self.storage.limits();
        let files = self.storage.blocking(move || Untar::new(limits).to_tree(archive)).await;
        files.map_err(read_failure)?.map(Arc::new).map_err(|error| unpack_failure(&error))
    }

    /// Packages the chart with the wanted version and values; that of a directory with its missing dependencies.
    async fn packaged(
        &self,
        owner: &ObjectKey,
        tree: Tree,
        found: Found,
        order: &Order,
        version: String,
    ) -> Result<Build, Failure> {
        let (name, bytes) = match found {
            Found::Directory { metadata } => (metadata.name, None),
            Found::Package { metadata, bytes } => (metadata.name, Some(bytes)),
        };
        let is_directory = bytes.is_none();
        let loaded = self.blocking({
            let (tree, order, version) = (tree.clone(), order.clone(), version.clone());
            move || tree.load(bytes.as_deref(), &order, version)
        });
        let (mut chart, values_files) = loaded.await?;
        let mut resolved = 0;
        if is_directory {
            resolved = self.add_dependencies(owner, &mut chart, &tree.files, tree.place.as_ref()).await?;
        }
        let package = Package::New(self.blocking(move || package(&chart)).await?);
        Ok(Build { name, version, values_files, is_packaged: true, package, resolved })
    }

    /// Runs a part of a build off the reactor.
    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        self.storage.blocking(work).await.map_err(|error| Step::Package.failed(error))?
    }
}

/// Returns the path of the chart in the source's files; none for their root.
fn place_of(order: &Order) -> Result<Option<RelPath>, Failure> {
    if order.chart.is_empty() {
        return Err(Step::Reference.failed("no path set for local chart reference"));
    }
    if order.chart.starts_with('/') {
        return Err(Step::Reference.failed("local chart reference path is expected to be relative"));
    }
    RelPath::confined(&order.chart)
        .map_err(|_| Step::Reference.failed(format!("invalid chart path '{}'", order.chart)))
}

impl Tree {
    /// Finds the chart, a directory or a package. Blocks.
    fn find(&self) -> Result<Found, Failure> {
        let (files, place, limits) = (&*self.files, self.place.as_ref(), &self.limits);
        let refuse = |error: &dyn Display| Step::Reference.failed(error);
        let shown = || place.map_or_else(|| ".".to_owned(), ToString::to_string);
        match archive::find(files, place).map_err(|error| refuse(&error))? {
            Some(TreeKind::Directory) => {
                let path =
                    place.map_or_else(|| CHART_FILE.to_owned(), |place| format!("{place}/{CHART_FILE}"));
                let missing = || refuse(&ChartError::NoChartFile { path: path.clone() });
                let file = file_at(&path).ok_or_else(missing)?;
                let description = chart::read(files, &file, limits.file).map_err(|error| refuse(&error))?;
                let mut metadata =
                    Metadata::parse(&description.ok_or_else(missing)?).map_err(|error| refuse(&error))?;
                metadata.validate().map_err(|error| refuse(&error))?;
                Ok(Found::Directory { metadata })
            }
            Some(TreeKind::File { .. }) => {
                let missing = || refuse(&ChartError::NotFound { path: shown() });
                let read = chart::read(files, place.ok_or_else(missing)?, limits.chart);
                let bytes = read.map_err(|error| match error {
                    ChartError::FileTooLarge { path, limit, .. } => {
                        refuse(&ChartError::TooLarge { name: path, limit })
                    }
                    error => refuse(&error),
                });
                let bytes = bytes?.ok_or_else(missing)?;
                let metadata = Chart::from_archive(&bytes, limits).map_err(|error| refuse(&error))?.metadata;
                Ok(Found::Package { metadata, bytes })
            }
            Some(TreeKind::Other) | None => Err(refuse(&ChartError::NotFound { path: shown() })),
        }
    }

    /// Loads the chart, from its package or else from its directory, with the wanted version and values. Returns the values files
    /// that were merged too. Blocks.
    fn load(
        &self,
        package: Option<&[u8]>,
        order: &Order,
        version: String,
    ) -> Result<(Chart, Vec<String>), Failure> {
        let (files, place, limits) = (&*self.files, self.place.as_ref(), &self.limits);
        let has_values = !order.values_files.is_empty();
        let files_of_values = Files::Source(files, limits.file);
        let merged = has_values.then(|| values::merged(order, &files_of_values)).transpose()?;
        let chart = match package {
            Some(package) => Chart::from_archive(package, limits),
            None => Chart::from_tree(files, place, limits),
        };
        let mut chart = chart.map_err(|error| Step::Package.failed(error))?;
        chart.metadata.version = version;
        let Some((merged, used)) = merged else { return Ok((chart, Vec::new())) };
        let is_replaced = values::replace(&mut chart, &merged)?;
        Ok((chart, if is_replaced { used } else { Vec::new() }))
    }
}

fn package(chart: &Chart) -> Result<Bytes, Failure> {
    let mut package = Vec::new();
    chart.package(&mut package).map_err(unpackaged)?;
    Ok(package.into())
}

fn read_failure(error: io::Error) -> Failure {
    Failure::fetch("ReadOperationFailed", format!("failed to unpack source artifact: {error}"))
}

fn unpack_failure(error: &UntarError) -> Failure {
    let message = format!("failed to unpack source artifact: {error}");
    if error.is_of_disk() { Failure::disk(message) } else { Failure::fetch("ReadOperationFailed", message) }
}
