//! The dependencies that a chart still needs, and where they come from (SRC-CHT-13).

use url::Url;
use weir_artifact::RelPath;
use weir_policy::semver::SemverError;

use crate::Chart;
use crate::metadata::Dependency;
use crate::version;

const CHARTS: &str = "charts";

/// Errors of getting a dependency. The texts are Flux's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DependencyError {
    /// A repository by its name in someone's Helm configuration.
    #[error("aliased repository dependency is not supported: {repository}")]
    Alias {
        /// Repository named in the chart.
        repository: String,
    },
    /// Not a repository.
    #[error("invalid dependency repository URL: {}", weir_http::shown_text(repository))]
    Repository {
        /// Repository named in the chart.
        repository: String,
    },
    /// The range is none.
    #[error("invalid version/constraint format '{range}': {source}")]
    Range {
        /// The range, as the chart states it.
        range: String,
        /// The fault in it.
        #[source]
        source: SemverError,
    },
    /// Nothing lies where the chart should be.
    #[error("no chart found at '/{path}' (reference '{repository}')")]
    NotFound {
        /// The path from the source's root.
        path: String,
        /// Repository named in the chart.
        repository: String,
    },
    /// The chart that was found has another version.
    #[error("can't get a valid version for constraint '{range}'")]
    Version {
        /// The range.
        range: String,
    },
}

/// The origin of a dependency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A directory or package of the same source; `None` is its root.
    Local(Option<RelPath>),
    /// A chart repository, over HTTP or in a registry.
    Remote(String),
}

/// The dependencies that are not in the chart's `charts/`, by alias or name.
#[must_use]
pub fn missing(chart: &Chart) -> Vec<Dependency> {
    let required = chart.required();
    let is_there = |dependency: &Dependency| {
        chart.subcharts().iter().any(|subchart| subchart.metadata.name == dependency.place())
    };
    if required.len() == chart.subcharts().len() {
        return Vec::new();
    }
    required.into_iter().filter(|dependency| !is_there(dependency)).cloned().collect()
}

/// Returns the origin of a dependency of the chart in `directory`.
///
/// # Errors
/// When its repository is of no known kind.
pub fn origin(dependency: &Dependency, directory: Option<&RelPath>) -> Result<Origin, DependencyError> {
    let repository = dependency.repository.trim();
    let invalid = || DependencyError::Repository { repository: repository.to_owned() };
    let at = |path: &str| {
        let base = directory.map_or("", RelPath::as_str);
        RelPath::confined(&format!("{base}/{path}")).map(Origin::Local).map_err(|_| invalid())
    };
    if repository.is_empty() {
        return at(&format!("{CHARTS}/{}", dependency.name));
    }
    if let Some(path) = repository.strip_prefix("file://") {
        return at(path);
    }
    // Flux has made a URL of it by then.
    let ended = || format!("{}/", repository.trim_end_matches('/'));
    if repository.starts_with('@') {
        return Err(DependencyError::Alias { repository: ended() });
    }
    let url = Url::parse(repository).map_err(|_| invalid())?;
    match url.scheme() {
        "http" | "https" | "oci" => Ok(Origin::Remote(repository.to_owned())),
        _ if url.cannot_be_a_base() => Err(invalid()),
        _ => Err(DependencyError::Repository { repository: ended() }),
    }
}

/// Checks that a chart of the same source has the wanted version.
///
/// # Errors
/// When it is not, or the range is none.
pub fn check_version(dependency: &Dependency, chart: &Chart) -> Result<(), DependencyError> {
    let range = &dependency.version;
    match version::is_in_range(&chart.metadata.version, range) {
        Ok(true) => Ok(()),
        Ok(false) => Err(DependencyError::Version { range: range.clone() }),
        Err(source) => Err(DependencyError::Range { range: range.clone(), source }),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn dependency(repository: &str) -> Dependency {
        Dependency { name: "db".into(), repository: repository.into(), ..Dependency::default() }
    }

    #[rstest]
    #[case("", "apps/a/charts/db")]
    #[case("file://../db", "apps/db")]
    #[case("file://./sub", "apps/a/sub")]
    #[case("file:///sub", "apps/a/sub")]
    #[case("file://../../../../etc", "etc")]
    fn local(#[case] repository: &str, #[case] expected: &str) {
        let directory = RelPath::parse("apps/a").unwrap();
        let path = RelPath::parse(expected).unwrap();
        assert_eq!(origin(&dependency(repository), Some(&directory)), Ok(Origin::Local(Some(path))));
    }

    #[rstest]
    #[case("@bitnami", "aliased repository dependency is not supported: @bitnami/")]
    #[case("alias:bitnami", "invalid dependency repository URL: alias:bitnami")]
    #[case("ftp://a/b", "invalid dependency repository URL: ftp://a/b/")]
    #[case("a b", "invalid dependency repository URL: a b")]
    #[case("ftp://user:hunter2@a/b", "invalid dependency repository URL: ftp://a/b/")]
    #[case("https://user:hunter2@a:port/", "invalid dependency repository URL: https://a:port/")]
    fn refused(#[case] repository: &str, #[case] expected: &str) {
        assert_eq!(origin(&dependency(repository), None).unwrap_err().to_string(), expected);
    }
}
