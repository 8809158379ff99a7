//! The build of a chart, and its failures (SRC-CHT-16, SRC-CHT-17).

use std::fmt::Display;

use bytes::Bytes;
use weir_api::condition_type::{BUILD_FAILED, FETCH_FAILED};
use weir_api::{Artifact, HelmChart};

use super::HelmChartReconciler;
use super::decide::{Order, Stored};
use super::observe::Origin;
use crate::source::{Attempt, Failure};

/// The chart that an object wants.
pub(super) struct Build {
    /// Its name, as it is referred to.
    pub(super) name: String,
    /// Its version, with the metadata that the object asks for.
    pub(super) version: String,
    /// The values files that were merged.
    pub(super) values_files: Vec<String>,
    /// True when it was packaged here; otherwise its bytes are the origin's.
    pub(super) is_packaged: bool,
    pub(super) package: Package,
    /// Dependencies that were fetched.
    pub(super) resolved: usize,
}

/// The package of a chart.
pub(super) enum Package {
    /// The one in the store, which is still right.
    Stored(Artifact),
    /// One that is to be stored.
    New(Bytes),
}

impl Build {
    /// The chart in the store.
    pub(super) fn reused(stored: &Stored, is_packaged: bool) -> Self {
        let Stored { name, artifact, values_files } = stored.clone();
        let version = artifact.revision.clone();
        Self { name, version, values_files, is_packaged, package: Package::Stored(artifact), resolved: 0 }
    }

    /// A chart whose package is the origin's.
    pub(super) fn pulled(name: String, version: String, package: Bytes) -> Self {
        let package = Package::New(package);
        Self { name, version, values_files: Vec::new(), is_packaged: false, package, resolved: 0 }
    }

    /// The sentence about it.
    pub(super) fn summary(&self) -> String {
        let Self { name, version, values_files, .. } = self;
        let action = if self.is_packaged { "packaged" } else { "pulled" };
        let summary = format!("{action} '{name}' chart with version '{version}'");
        if values_files.is_empty() {
            return summary;
        }
        format!("{summary} and merged values files [{}]", values_files.join(" "))
    }

    pub(super) fn reason(&self) -> &'static str {
        if self.is_packaged { "ChartPackageSucceeded" } else { "ChartPullSucceeded" }
    }
}

/// The part of a build that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Reference,
    Pull,
    Metadata,
    Values,
    Dependencies,
    Package,
    Verification,
    Unknown,
}

impl Step {
    /// The failure of this step. Those that only a change of the object or of its source can mend stall.
    pub(super) fn failed(self, error: impl Display) -> Failure {
        let (condition, reason, summary, is_final) = match self {
            Self::Reference => (FETCH_FAILED, "InvalidChartReference", "invalid chart reference", true),
            Self::Pull => (FETCH_FAILED, "ChartPullError", "chart pull error", false),
            Self::Metadata => (BUILD_FAILED, "MetadataPatchError", "chart metadata patch error", true),
            Self::Values => (BUILD_FAILED, "ValuesFilesError", "values files merge error", true),
            Self::Dependencies => (BUILD_FAILED, "DependencyBuildError", "dependency build error", false),
            Self::Package => (BUILD_FAILED, "ChartPackageError", "chart package error", false),
            Self::Verification => (BUILD_FAILED, "ChartVerificationError", "chart verification error", false),
            Self::Unknown => (FETCH_FAILED, "Unknown", "unknown build error", false),
        };
        let failure = Failure::new(condition, reason, format!("{summary}: {error}"));
        match self {
            Self::Verification => failure.unverified(),
            _ if is_final => failure.stalled(),
            _ => failure,
        }
    }
}

/// Words of servers that do not let us in (SRC-CHT-9).
const NOT_LET_IN: [&str; 5] =
    ["401", "unauthorized", "authentication required", "tls", "unknown certificate authority"];

/// Makes the failure of a download. `said` is the server's message, without addresses, which may contain anything.
pub(super) fn pull_failure(said: &str, error: impl Display) -> Failure {
    let (said, failure) = (said.to_lowercase(), Step::Pull.failed(error));
    if NOT_LET_IN.iter().any(|words| said.contains(words)) {
        let message = format!("failed to authenticate with the Helm repository: {}", failure.cause.message);
        return Failure::fetch("AuthenticationFailed", message);
    }
    failure
}

/// Makes the failure of a chart that does not become a package.
pub(super) fn unpackaged(error: impl Display) -> Failure {
    Step::Package.failed(format!("failed to package chart: {error}"))
}

impl HelmChartReconciler {
    /// Makes the chart from its origin.
    pub(super) async fn build(
        &self,
        attempt: &mut Attempt<'_, HelmChart>,
        origin: &Origin,
        order: &Order,
    ) -> Result<Build, Failure> {
        match origin {
            Origin::Index { repository, index } => self.chart_of_index(repository, index, order).await,
            Origin::Registry { repository } => self.chart_of_registry(attempt, repository, order).await,
            Origin::Tree { artifact } => self.chart_of_tree(attempt.key(), artifact, order).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(false, &[], "pulled 'app' chart with version '1.0.0'")]
    #[case(true, &["a", "b"], "packaged 'app' chart with version '1.0.0' and merged values files [a b]")]
    fn summaries(#[case] is_packaged: bool, #[case] files: &[&str], #[case] expected: &str) {
        let values_files = files.iter().map(|file| (*file).to_owned()).collect();
        let (name, version) = ("app".to_owned(), "1.0.0".to_owned());
        let package = Package::New(Bytes::new());
        let build = Build { name, version, values_files, is_packaged, package, resolved: 0 };
        assert_eq!(build.summary(), expected);
    }

    #[rstest]
    #[case(
        "401 Unauthorized",
        "AuthenticationFailed",
        "failed to authenticate with the Helm repository: chart pull error: x"
    )]
    #[case(
        "tls: unknown certificate authority",
        "AuthenticationFailed",
        "failed to authenticate with the Helm repository: chart pull error: x"
    )]
    #[case("404 Not Found", "ChartPullError", "chart pull error: x")]
    fn who_is_not_let_in(#[case] said: &str, #[case] reason: &str, #[case] message: &str) {
        let cause = pull_failure(said, "x").cause;
        assert_eq!((cause.reason, cause.message.as_str()), (reason, message));
    }
}
