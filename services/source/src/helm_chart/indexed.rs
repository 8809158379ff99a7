//! Charts of repositories with an index (SRC-CHT-4, SRC-CHT-5, SRC-CHT-8).

use std::sync::Arc;

use bytes::Bytes;
use weir_api::{Artifact, HelmRepository};
use weir_helm::index;
use weir_helm::version::{self, SelectError};
use weir_helm::{Chart, FetchError, Limits};
use weir_runtime::ObjectKey;

use super::HelmChartReconciler;
use super::build::{Build, Package, Step, pull_failure, unpackaged};
use super::decide::Order;
use super::index_cache::Releases;
use super::values::{self, Files};
use crate::source::Failure;

/// Refuses what is no name of a chart.
pub(super) fn check_name(name: &str) -> Result<(), Failure> {
    if version::is_chart_name(name) {
        return Ok(());
    }
    if name.is_empty() {
        return Err(Step::Reference.failed("no name set for remote chart reference"));
    }
    Err(Step::Reference.failed(format!(
        "invalid chart name '{name}': a valid name must be lower case letters and numbers and MAY be separated with \
         dashes (-), slashes (/) or periods (.)"
    )))
}

impl HelmChartReconciler {
    /// The chart of a repository that has an index.
    pub(super) async fn chart_of_index(
        &self,
        repository: &HelmRepository,
        index: &Artifact,
        order: &Order,
    ) -> Result<Build, Failure> {
        check_name(&order.chart)?;
        let place = ObjectKey::of(repository);
        let server = self.connector.open(&place, repository).await?;
        let releases = self.releases(&place, index, &order.chart).await?;
        let selected = match &releases {
            Some(releases) => version::select(&order.chart, releases, &order.version),
            None => Err(SelectError::NoChart),
        };
        let release = selected.map_err(|error| {
            Step::Reference.failed(format!("failed to get chart version for remote reference: {error}"))
        })?;
        let version = order.version_of(&release.version).map_err(|error| Step::Metadata.failed(error))?;
        if let Some(stored) = order.reusable(&order.chart, &version) {
            return Ok(Build::reused(stored, !order.is_plain()));
        }
        let fetched = server.chart(&order.chart, release, self.limits.chart).await.map_err(|error| {
            let message = format!("failed to download chart for remote reference: {error}");
            if error.is_of_disk() {
                return Failure::disk(message);
            }
            pull_failure(&said(&error), message).after(error.retry_after())
        })?;
        let package = self.storage.blocking(move || fetched.into_bytes()).await.flatten();
        let unread = |error| Failure::disk(format!("failed to read downloaded chart: {error}"));
        self.finished(order, version, package.map_err(unread)?).await
    }

    /// The versions of a chart in a stored index; the metric counts the look-up for `owner`.
    pub(super) async fn releases(
        &self,
        owner: &ObjectKey,
        index: &Artifact,
        chart: &str,
    ) -> Result<Option<Releases>, Failure> {
        if let Some(known) = self.indexes.get(owner, &index.path, chart) {
            return Ok(Some(known));
        }
        let failed = |error: String| Step::Unknown.failed(format!("failed to load stored index: {error}"));
        let file = self.open(index).map_err(|error| failed(error.to_string()))?;
        let name = chart.to_owned();
        let read = self.storage.blocking(move || index::releases(file, &name)).await;
        let read = read.map_err(|error| failed(error.to_string()))?;
        let releases = read.map_err(|error| failed(error.to_string()))?.map(Arc::new);
        if let Some(releases) = &releases {
            self.indexes.put(&index.path, chart, releases);
        }
        Ok(releases)
    }

    /// Makes of a package as it came what the object asks for.
    pub(super) async fn finished(
        &self,
        order: &Order,
        version: String,
        package: Bytes,
    ) -> Result<Build, Failure> {
        let (limits, order) = (self.limits, order.clone());
        let work = move || finish(&order, version, package, &limits);
        self.storage.blocking(work).await.map_err(|error| Step::Package.failed(error))?
    }
}

fn finish(order: &Order, version: String, package: Bytes, limits: &Limits) -> Result<Build, Failure> {
    let name = order.chart.clone();
    let chart = Chart::from_archive(&package, limits);
    if order.is_plain() {
        chart.map_err(|error| {
            let fault = if error.is_invalid() { "validate metadata of" } else { "load chart metadata from" };
            Step::Pull.failed(format!("failed to {fault} written chart: {error}"))
        })?;
        return Ok(Build::pulled(name, version, package));
    }
    let mut chart =
        chart.map_err(|error| Step::Package.failed(format!("failed to load downloaded chart: {error}")))?;
    let (merged, mut values_files) = values::merged(order, &Files::Chart(&chart))?;
    if !values::replace(&mut chart, &merged)? {
        values_files.clear();
    }
    chart.metadata.version.clone_from(&version);
    let mut written = Vec::new();
    chart.package(&mut written).map_err(unpackaged)?;
    let package = Package::New(written.into());
    Ok(Build { name, version, values_files, is_packaged: true, package, resolved: 0 })
}

/// Returns the server's message, without addresses.
fn said(error: &FetchError) -> String {
    match error {
        FetchError::Status { status, .. } => status.to_string(),
        FetchError::Transport { reason, .. } => reason.clone(),
        _ => String::new(),
    }
}
