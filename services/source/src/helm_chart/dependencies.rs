//! The dependencies that a chart in a source's files still needs (SRC-CHT-13): charts of the same source, of
//! repositories and registries. Credentials are those of a `HelmRepository` of the chart's namespace with the same
//! address, or none.

use std::collections::hash_map::{Entry, HashMap};
use std::fmt::Display;
use std::fs::File;
use std::io::Seek;
use std::sync::Arc;

use bytes::Bytes;
use url::Url;
use weir_api::{Artifact, FluxObject, HelmRepository, SourceObject};
use weir_artifact::{RelPath, TreeKind, Unpacked, archive};
use weir_helm::dependency::{self, DependencyError, Origin};
use weir_helm::index::{self, IndexError, Release};
use weir_helm::repository::normalized;
use weir_helm::version::{self, SelectError};
use weir_helm::{Chart, Dependency, Limits, Repository};
use weir_http::shown;
use weir_runtime::ObjectKey;

use super::HelmChartReconciler;
use super::build::Step;
use super::index_cache::Releases;
use crate::helm_repository::{converted, is_oci};
use crate::source::Failure;

/// Indexes that were fetched for one build, in their stored form: an umbrella chart takes much from one repository.
type Fetched = HashMap<Url, File>;

/// A chart that another one needs, and the server that has it.
struct Remote<'d> {
    /// The object whose chart needs it.
    owner: &'d ObjectKey,
    needed: &'d Dependency,
    url: Url,
    /// The object that describes the server.
    known: Option<Arc<HelmRepository>>,
}

impl HelmChartReconciler {
    /// Adds the missing charts; returns their number.
    pub(super) async fn add_dependencies(
        &self,
        owner: &ObjectKey,
        chart: &mut Chart,
        files: &Arc<Unpacked>,
        directory: Option<&RelPath>,
    ) -> Result<usize, Failure> {
        let missing = dependency::missing(chart);
        let mut fetched = Fetched::new();
        for needed in &missing {
            let origin =
                dependency::origin(needed, directory).map_err(|error| failed("remote ", needed, error))?;
            let mut subchart = match origin {
                Origin::Local(path) => {
                    let (files, needed, limits) = (files.clone(), needed.clone(), self.limits);
                    self.blocking(move || local(&files, path.as_ref(), &needed, &limits)).await?
                }
                Origin::Remote(repository) => self.remote(owner, needed, &repository, &mut fetched).await?,
            };
            // Under this name it is looked for when the package is made again from what lies in `charts/`.
            if !needed.alias.is_empty() {
                needed.alias.clone_into(&mut subchart.metadata.name);
            }
            chart.add(subchart);
        }
        Ok(missing.len())
    }

    /// Fetches a chart of a repository or a registry.
    async fn remote(
        &self,
        owner: &ObjectKey,
        needed: &Dependency,
        url: &str,
        fetched: &mut Fetched,
    ) -> Result<Chart, Failure> {
        let invalid = || DependencyError::Repository { repository: url.to_owned() };
        let url = Url::parse(url).map_err(|_| failed("remote ", needed, invalid()))?;
        let url = normalized(url);
        let known = self.described(owner, &url).await;
        let remote = Remote { owner, needed, url, known };
        let (version, package) = if remote.url.scheme() == "oci" {
            self.package_of_registry(&remote).await?
        } else {
            self.package_of_repository(&remote, fetched).await?
        };
        let limits = self.limits;
        let load = move || Chart::from_archive(&package, &limits);
        let loaded = self.storage.blocking(load).await.map_err(|error| remote.failed(error))?;
        loaded.map_err(|error| {
            remote.failed(format!("failed to load downloaded archive of version '{version}': {error}"))
        })
    }

    /// The `HelmRepository` of the namespace that describes a server: never one of another namespace (SRC-SCK-6).
    async fn described(&self, owner: &ObjectKey, url: &Url) -> Option<Arc<HelmRepository>> {
        self.repositories.synced().await;
        let mut found: Vec<_> = self.repositories.list();
        found.retain(|repository| {
            repository.metadata.namespace.as_deref() == Some(&owner.namespace)
                && is_oci(repository) == (url.scheme() == "oci")
                && Url::parse(&repository.spec.url).is_ok_and(|described| normalized(described) == *url)
        });
        // The same one each time, should several describe it.
        found.into_iter().min_by_key(|repository| repository.metadata.name.clone())
    }

    /// The index of a described repository that is stored already.
    async fn stored_index(&self, known: Option<&HelmRepository>) -> Option<Artifact> {
        let repository = known?;
        let index = repository.artifact()?;
        let is_whole = self.is_whole(HelmRepository::KIND, &ObjectKey::of(repository), index).await;
        is_whole.then(|| index.clone())
    }

    /// The version of a chart that is wanted, and its package, from a repository that has an index.
    async fn package_of_repository(
        &self,
        remote: &Remote<'_>,
        fetched: &mut Fetched,
    ) -> Result<(String, Bytes), Failure> {
        let Dependency { name, version, .. } = remote.needed;
        let server = self.server(remote).await?;
        let releases = match self.stored_index(remote.known.as_deref()).await {
            Some(index) => {
                let stored = self.releases(remote.owner, &index, name).await;
                stored.map_err(|failure| remote.not_found(&failure.cause.message))?
            }
            None => self.fetched_releases(remote, &server, fetched).await?,
        };
        let releases = releases.ok_or_else(|| remote.not_found(SelectError::NoChart))?;
        let release = version::select(name, &releases, version).map_err(|error| remote.not_found(error))?;
        let package = server.chart(name, release, self.limits.chart).await.map_err(|error| {
            let message = format!("chart download of version '{}' failed: {error}", release.version);
            remote.failed(message).after(error.retry_after())
        })?;
        let package = self.storage.blocking(move || package.into_bytes()).await.flatten();
        Ok((release.version.clone(), package.map_err(|error| remote.failed(error))?))
    }

    /// The repository's server, with the credentials of the object that describes it.
    async fn server(&self, remote: &Remote<'_>) -> Result<Repository, Failure> {
        let unopened = |error: &dyn Display| {
            let url = shown(&remote.url);
            remote.failed(format!("failed to get chart repository for URL '{url}': {error}"))
        };
        match &remote.known {
            Some(repository) => {
                let opened = self.connector.open(&ObjectKey::of(&**repository), repository).await;
                opened.map_err(|failure| unopened(&failure.cause.message))
            }
            None => self.connector.anonymous(remote.url.clone()).map_err(|error| unopened(&error)),
        }
    }

    /// The versions of a chart in an index that nobody else keeps.
    async fn fetched_releases(
        &self,
        remote: &Remote<'_>,
        server: &Repository,
        fetched: &mut Fetched,
    ) -> Result<Option<Releases>, Failure> {
        let unloaded = |error: &dyn Display| remote.not_found(format!("failed to load index: {error}"));
        let index = match fetched.entry(remote.url.clone()) {
            Entry::Occupied(index) => index.into_mut(),
            Entry::Vacant(place) => {
                let raw = server.index(self.limits.index).await.map_err(|error| {
                    let cache = "failed to cache index: failed to cache index to temporary file";
                    remote.not_found(format!("{cache}: {error}")).after(error.retry_after())
                })?;
                let stored = self.blocking_index(move || converted(raw.file)).await;
                place.insert(stored.map_err(|error| unloaded(&error))?)
            }
        };
        let index = index.try_clone().map_err(|error| unloaded(&error))?;
        let name = remote.needed.name.clone();
        let releases = self.blocking_index(move || releases(index, &name)).await;
        Ok(releases.map_err(|error| unloaded(&error))?.map(Arc::new))
    }

    /// The version of a chart that is wanted, and its package, from a registry.
    async fn package_of_registry(&self, remote: &Remote<'_>) -> Result<(String, Bytes), Failure> {
        let described = remote.known.clone().unwrap_or_else(|| {
            let mut anonymous = HelmRepository::default();
            anonymous.spec.url = remote.url.to_string();
            anonymous.spec.type_ = Some("oci".to_owned());
            Arc::new(anonymous)
        });
        let Dependency { name, version, .. } = remote.needed;
        let pulled = self.pull_version(&described, name, version).await;
        pulled.map_err(|error| {
            let message = error.of_dependency(name, version, &shown(&remote.url));
            remote.failed(message).after(error.retry_after())
        })
    }

    async fn blocking_index<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T, IndexError> {
        self.storage.blocking(work).await.unwrap_or_else(|source| Err(IndexError::Io { source }))
    }
}

fn failed(kind: &str, needed: &Dependency, error: impl Display) -> Failure {
    Step::Dependencies.failed(format!("failed to add {kind}dependency '{}': {error}", needed.place()))
}

impl Remote<'_> {
    fn failed(&self, error: impl Display) -> Failure {
        failed("remote ", self.needed, error)
    }

    /// Makes the failure of a repository in whose index no version of the chart was found.
    fn not_found(&self, error: impl Display) -> Failure {
        let Dependency { name, version, .. } = self.needed;
        let address = shown(&self.url);
        let from = address.trim_end_matches('/');
        self.failed(format!("failed to get chart '{name}' version '{version}' from '{from}': {error}"))
    }
}

/// The versions of one chart in an index that was read before, maybe.
fn releases(mut index: File, name: &str) -> Result<Option<Vec<Release>>, IndexError> {
    index.rewind().map_err(|source| IndexError::Io { source })?;
    index::releases(index, name)
}

/// A chart of the same source.
fn local(
    files: &Unpacked,
    path: Option<&RelPath>,
    needed: &Dependency,
    limits: &Limits,
) -> Result<Chart, Failure> {
    let refuse = |error: &dyn Display| failed("local ", needed, error);
    let not_found = || {
        let path = path.map(ToString::to_string).unwrap_or_default();
        refuse(&DependencyError::NotFound { path, repository: needed.repository.clone() })
    };
    let load_failure = |error: &dyn Display| {
        let path = path.map(ToString::to_string).unwrap_or_default();
        refuse(&format!("failed to load chart from '/{path}' (reference '{}'): {error}", needed.repository))
    };
    let chart = match archive::find(files, path).map_err(|error| refuse(&error))? {
        Some(TreeKind::Directory) => {
            Chart::from_tree(files, path, limits).map_err(|error| load_failure(&error))?
        }
        Some(TreeKind::File { .. }) => {
            let read = weir_helm::chart::read(files, path.ok_or_else(not_found)?, limits.chart);
            let package = read.map_err(|error| load_failure(&error))?.ok_or_else(not_found)?;
            Chart::from_archive(&package, limits).map_err(|error| load_failure(&error))?
        }
        Some(TreeKind::Other) | None => return Err(not_found()),
    };
    dependency::check_version(needed, &chart).map_err(|error| refuse(&error))?;
    Ok(chart)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn security_a_repository_is_told_without_its_password() {
        let needed = Dependency {
            name: "lib".into(),
            alias: "own".into(),
            version: "1.x".into(),
            ..Dependency::default()
        };
        let url = Url::parse("https://user:hunter2@h/charts/?sig=hunter2").unwrap();
        let owner = ObjectKey::new("default", "app");
        let remote = Remote { owner: &owner, needed: &needed, url, known: None };
        let failure = remote.not_found(SelectError::NoChart);
        assert_eq!(
            failure.cause.message,
            "dependency build error: failed to add remote dependency 'own': failed to get chart 'lib' version '1.x' from \
             'https://h/charts': no chart name found"
        );
    }
}
